// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/tree.hpp"

namespace antiphon::reduce_by_in_order_binary {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 4096, 0, 1 << 30, "bytes per segment; 0 passes on the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way from one rank"},
};

/// Segments go up a binary tree in which a subtree is a run of ranks with its root as the last: (lower half) OP (upper
/// half) OP own operand. So ordered operations need no more messages within the tree than others; their tree is rooted
/// at the last rank, which passes the result to the root. As in Open MPI (ompi_coll_tuned "in_order_binary"). Two
/// streams meet in a port, each with at most a window of segments. Cost (pLogP), k segments of s bytes: ⌈log2 P⌉ (L + 2
/// g(s)) + (k−1) 2 g(s). Good for medium messages and many ranks.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  const int top = p.commutative ? p.root : p.size - 1;  // the rank at the last place
  const auto rank_at = [&](int place) { return (place + top + 1) % p.size; };
  const Tree tree = in_order_binary_tree((p.rank - top - 1 + 2 * p.size) % p.size, p.size);
  const bool root = p.rank == p.root;
  const bool at_top = tree.parent < 0;

  Range result = p.whole_input();
  OpId combined = no_op;
  if (at_top && root) result = p.whole_output();
  else if (!tree.children.empty()) result = s.scratch(p.bytes);
  if (result.space != Space::input) combined = s.copy(p.whole_input(), result, {}, cut);
  for (const int child : smallest_first(tree)) {
    const Range left = s.scratch(p.bytes);
    const OpId received = s.recv(rank_at(child), left, {}, cut);
    combined = s.reduce(left, result, {pipelined(received), pipelined(combined)}, cut);
  }
  OpId sent = no_op;
  if (!at_top) sent = s.send(rank_at(tree.parent), result, {pipelined(combined)}, cut);
  if (at_top && !root) s.send(p.root, result, {pipelined(combined)}, cut, 1);
  if (!at_top && root) {
    // In place, the operand is overwritten only after its last use.
    s.recv(top, p.whole_output(), {p.in_place ? Dep(sent) : Dep(no_op)}, cut, 1);
  }
  return s;
}

}  // namespace

extern const Algorithm reduce{
    .collective = Collective::reduce,
    .name = "in_order_binary",
    .summary = "segments up a binary tree in rank order; medium messages, many ranks",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::reduce_by_in_order_binary
