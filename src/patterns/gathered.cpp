// SPDX-License-Identifier: Apache-2.0
#include "patterns/gathered.hpp"

#include <algorithm>

namespace antiphon {

std::vector<BlockRun> ring_runs(int base, int n, int start, int count) {
  start %= n;
  const int before_wrap = std::min(count, n - start);
  std::vector<BlockRun> runs{{base + start, before_wrap}};
  if (count > before_wrap) runs.push_back({base, count - before_wrap});
  return runs;
}

GatheredBlocks::GatheredBlocks(Schedule& s, const Problem& p, const Cut& cut)
    : s_(s), p_(p), cut_(cut), received_({cut.piece_bytes, 2 * cut.window}), offsets_{0} {
  std::int64_t begin = 0;
  bool any = false;
  for (int i = 0; i < p.size; ++i) {
    const Range block = p.output_block(i);
    if (block.bytes > 0 && !any) begin = block.offset_bytes;
    any = any || block.bytes > 0;
    if (block.bytes > 0 && block.offset_bytes != begin + offsets_.back()) direct_ = false;
    offsets_.push_back(offsets_.back() + block.bytes);
  }
  packed_ = direct_ ? Range{Space::output, begin, offsets_.back()} : s.scratch(offsets_.back());
  own_ = s.copy(p.whole_input(), range({p.rank, 1}));
  if (!direct_) s.copy(p.whole_input(), p.output_block(p.rank));
}

Range GatheredBlocks::range(const BlockRun& run) const {
  const std::int64_t begin = offsets_[static_cast<std::size_t>(run.first)];
  return packed_.sub(begin,
                     offsets_[static_cast<std::size_t>(run.first) + static_cast<std::size_t>(run.count)] - begin);
}

std::vector<OpId> GatheredBlocks::recv(int from, const std::vector<BlockRun>& runs, int tag, OpId post_after) {
  std::vector<OpId> received;
  received_ = Lane({cut_.piece_bytes, 2 * cut_.window});
  for (const BlockRun& run : runs) {
    const Range to = range(run);
    received.push_back(no_op);
    if (to.bytes > 0) {
      received.back() = s_.recv(from, to, {post_after}, {cut_.piece_bytes, 2 * cut_.window}, tag);
      received_.append(s_);
    }
    ++tag;
    for (int i = run.first; !direct_ && i < run.first + run.count; ++i) {
      if (p_.output_block(i).bytes > 0) s_.copy(range({i, 1}), p_.output_block(i), {received.back()});
    }
  }
  return received;
}

void GatheredBlocks::send(int to, const std::vector<BlockRun>& runs, const std::vector<OpId>& have, int tag) {
  Lane sent(cut_);
  for (std::size_t i = 0; i < runs.size(); ++i, ++tag) {
    const Range from = range(runs[i]);
    if (from.bytes == 0) continue;
    s_.send(to, from, {}, cut_, tag);
    for (const OpId op : have) s_.after(op);
    received_.pace(s_, sent.end(), cut_.window);
    sent.append(s_);
  }
}

}  // namespace antiphon
