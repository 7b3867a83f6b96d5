// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/halving.hpp"
#include "patterns/partition.hpp"

namespace antiphon::allreduce_by_rabenseifner {

namespace {

constexpr Parameter parameters[] = {
    {"piece_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per piece; 0 sends whole messages"},
    {"window", Role::ahead, 2, 1, 1024, "pieces ahead of what comes in"},
};

constexpr int gather_tag = 1;

/// Goes the way of the halving backwards: each partner gives back the reduced half. Returns the operations that bring
/// the whole vector.
std::vector<OpId> double_back(Schedule& s, const Problem& p, const Halved& halved, const Cut& cut) {
  std::vector<OpId> have{s.copy(halved.kept.where,
                                p.whole_output().sub(halved.kept_range.offset_bytes, halved.kept_range.bytes),
                                {halved.kept.since.op})};
  Range mine = halved.kept_range;
  for (auto step = halved.steps.rbegin(); step != halved.steps.rend(); ++step) {
    const Range theirs = step->given;
    OpId received = no_op;
    if (theirs.bytes > 0) {
      received = s.recv(step->partner, p.whole_output().sub(theirs.offset_bytes, theirs.bytes), {step->sent},
                        {cut.piece_bytes, 2 * cut.window}, gather_tag);
    }
    if (mine.bytes > 0) {
      s.send(step->partner, p.whole_output().sub(mine.offset_bytes, mine.bytes), {paced(received, cut.window)}, cut,
             gather_tag);
      for (const OpId op : have) s.after(op);
    }
    have.push_back(received);
    mine = {mine.space, std::min(mine.offset_bytes, theirs.offset_bytes), mine.bytes + theirs.bytes};
  }
  return have;
}

/// Reduce-scatter by recursive halving, then allgather by recursive doubling (R. Rabenseifner, 2004). The nearest
/// partners come first, so runs of neighbouring ranks are combined and operations need not commute. Beyond a power of
/// two, pairs of neighbours act as one, which costs two more vectors. Cost (pLogP): 2 log2 P · L + 2 (P−1)/P·g(m).
/// Medium and long vectors.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p, "piece_bytes");
  const Folding folding(p.size);
  Partial mine{p.whole_input(), no_op, false};
  if (!p.commutative) mine = {p.whole_output(), s.copy(p.whole_input(), p.whole_output())};
  OpId folded = no_op;
  mine = fold_pairs(s, p, folding, mine, cut, &folded);
  if (!folding.acts(p.rank)) {
    if (p.bytes > 0) s.recv(p.rank + 1, p.whole_output(), {pipelined(folded)}, cut, unfold_tag);
    return s;
  }
  const Partition parts(p.bytes, p.element_bytes, folding.acting);
  const Halved halved =
      recursive_halving(s, p, folding, mine, HalvingOrder::near_first, [&](int i) { return parts.offset(i); }, cut);
  const auto have = double_back(s, p, halved, cut);
  if (folding.in_pair(p.rank) && p.bytes > 0) {
    s.send(p.rank - 1, p.whole_output(), {}, cut, unfold_tag);
    for (const OpId op : have) s.after(op);
  }
  return s;
}

}  // namespace

extern const Algorithm allreduce{
    .collective = Collective::allreduce,
    .name = "rabenseifner",
    .summary = "recursive halving, then doubling; medium and long vectors, any operation",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::allreduce_by_rabenseifner
