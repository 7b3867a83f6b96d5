// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/halving.hpp"

namespace antiphon::barrier_by_recursive_doubling {

namespace {

/// Partners 1, 2, 4… places away exchange tokens. Beyond a power of two, pairs of neighbours act as one, which costs
/// two more rounds. Cost (pLogP): log2 P (L + g(0)). As Open MPI's; partners on the same node come first.
Schedule build(const Problem& p) {
  Schedule s;
  const Folding folding(p.size);
  if (!folding.acts(p.rank)) {
    s.send_token(p.rank + 1, {}, fold_tag);
    s.recv_token(p.rank + 1, {}, unfold_tag);
    return s;
  }
  OpId heard = folding.in_pair(p.rank) ? s.recv_token(p.rank - 1, {}, fold_tag) : no_op;
  const int place = folding.place(p.rank);
  for (int distance = 1; distance < folding.acting; distance *= 2) {
    const int other = folding.rank_at(place ^ distance);
    s.send_token(other, {heard});
    heard = s.recv_token(other, {heard});
  }
  if (folding.in_pair(p.rank)) s.send_token(p.rank - 1, {heard}, unfold_tag);
  return s;
}

}  // namespace

extern const Algorithm barrier{
    .collective = Collective::barrier,
    .name = "recursive_doubling",
    .summary = "tokens between partners at doubling distances",
    .build = build,
};

}  // namespace antiphon::barrier_by_recursive_doubling
