// SPDX-License-Identifier: Apache-2.0
#include "patterns/multicast.hpp"
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/reduce_up.hpp"

namespace antiphon::allreduce_by_multicast {

namespace {

constexpr Parameter parameters[] = {
    {"radix", Role::fanout, 2, 0, 64,
     "of the k-nomial tree up; 1: a chain; 0: a binary tree, in which no rank hears from more than two"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30,
     "bytes per segment, on the way up and to the group; 0: whole vectors"},
    {"window", Role::ahead, 4, 1, 64, "segments under way"},
};

constexpr int up_tag = 0;
constexpr int down_tag = 1;

/// Segments are reduced up a k-nomial tree to rank 0, which multicasts each as it is done. Cost (pLogP), k segments of
/// s bytes, radix 2: log2 P (L + g(s)) + (k−1) log2 P·g(s) up, g(s) + L down: half of what `reduce_bcast` does. Good
/// for short vectors; any operation.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  const auto tree_at = [&](int rank) { return run_tree(rank, p.size, static_cast<int>(p.parameter("radix"))); };
  const int group = group_of_all(s, p);
  const ReducedUp up = reduce_up(s, p, tree_at, p.whole_input(), cut, up_tag);
  if (p.rank == 0) {
    s.multicast(group, up.result, {up.ready}, cut, down_tag);
    s.copy(up.result, p.whole_output(), {up.ready}, {cut.piece_bytes, 0});
  } else {
    // In place, the operand is overwritten after it was sent.
    s.recv_multicast(0, group, p.whole_output(), {pipelined(up.sent)}, cut, down_tag);
  }
  return s;
}

}  // namespace

extern const Algorithm allreduce{
    .collective = Collective::allreduce,
    .name = "multicast",
    .summary = "reduced up a tree, one multicast down; short vectors, any operation",
    .parameters = parameters,
    .build = build,
    .multicasts = true,
};

}  // namespace antiphon::allreduce_by_multicast
