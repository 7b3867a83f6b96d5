// SPDX-License-Identifier: Apache-2.0
#include "patterns/reduce_scatter.hpp"

namespace antiphon {

void copy_to_output(Schedule& s, const Problem& p, const Range& result, OpId since, const std::vector<OpId>& readers) {
  s.copy(result, p.whole_output(), {since});
  if (!p.in_place) return;
  for (const OpId op : readers) s.after(op);
}

Range give_pair_its_block(Schedule& s, const Problem& p, const Partial& kept, const Cut& cut) {
  const std::int64_t for_pair = kept.where.bytes - p.bytes;
  if (for_pair > 0) s.send(p.rank - 1, kept.where.sub(0, for_pair), {kept.since.op}, cut, unfold_tag);
  return kept.where.sub(for_pair, p.bytes);
}

}  // namespace antiphon
