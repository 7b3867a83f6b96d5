// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/reduce_up.hpp"

namespace antiphon::allreduce_by_reduce_bcast {

namespace {

constexpr Parameter parameters[] = {
    {"radix", Role::fanout, 2, 0, 64,
     "of the k-nomial tree; 1: a chain; 0: a binary tree, in which no rank hears from more than two"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on whole vectors"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way from one rank to another"},
};

constexpr int up_tag = 0;
constexpr int down_tag = 1;

Tree tree_at(const Problem& p, int rank) { return run_tree(rank, p.size, static_cast<int>(p.parameter("radix"))); }

/// Segments are reduced up a tree to rank 0, and each goes down the same tree as soon as it is done, so that links are
/// used in both directions at once. Subtrees are runs of ranks and are combined in order, so any operation will do. One
/// child at a time sends to a port. Cost (pLogP), k segments of s bytes: radix 2: 2 log2 P (L + g(s)) + (k−1) log2
/// P·g(s); chain: 2 (P−1)(L + g(s)) + (k−1) g(s), which moves each byte over each link only once in each direction.
/// Good for short vectors, or (chain) for long ones of ordered operations.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  const Tree tree = tree_at(p, p.rank);
  const ReducedUp up = reduce_up(s, p, [&](int rank) { return tree_at(p, rank); }, p.whole_input(), cut, up_tag);
  // In place, the operand is overwritten after it was sent.
  const OpId have = tree.parent < 0 ? s.copy(up.result, p.whole_output(), {up.ready}, {cut.piece_bytes, 0})
                                    : s.recv(tree.parent, p.whole_output(), {pipelined(up.sent)}, cut, down_tag);
  for (const int child : tree.children) s.send(child, p.whole_output(), {pipelined(have)}, cut, down_tag);
  return s;
}

}  // namespace

extern const Algorithm allreduce{
    .collective = Collective::allreduce,
    .name = "reduce_bcast",
    .summary = "reduced up a tree or chain and sent down again in segments; any operation",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::allreduce_by_reduce_bcast
