// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/cut.hpp"
#include "patterns/reduce_up.hpp"
#include "patterns/tree.hpp"

namespace antiphon::reduce_by_binomial {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way from one rank"},
    {"eager_bytes", Role::border, 4096, 0, 1 << 30, "messages up to this are sent without being asked for"},
};

/// Every rank combines its operand with the results of its subtrees, the smallest first since it is done first, and
/// passes the result on segment by segment. Longer messages are asked for, one subtree after the other, so that they
/// cannot overrun a port. Ordered operations: the tree is rooted at rank 0, which passes the result to the root. Cost
/// (pLogP): ⌈log2 P⌉ (L + g(m)) (paper 5, Table 2). Good for short messages and any number of ranks.
Schedule build(const Problem& p) {
  Schedule s;
  const Cut cut = cut_of(p);
  const int top = p.commutative ? p.root : 0;
  const auto rank_at = [&](int place) { return (place + top) % p.size; };
  const Tree tree = binomial_tree((p.rank - top + p.size) % p.size, p.size);
  const bool root = p.rank == p.root;
  const bool asked = p.bytes > p.parameter("eager_bytes");
  std::vector<int> children;
  for (const int child : smallest_first(tree)) children.push_back(rank_at(child));
  const auto [result, ready] = combine_children(s, children, p.whole_input(), asked, cut);
  const bool at_top = tree.parent < 0;
  OpId sent = no_op;
  if (!at_top) {
    const OpId granted = asked ? s.recv_token(rank_at(tree.parent)) : no_op;
    sent = s.send(rank_at(tree.parent), result, {granted, pipelined(ready)}, cut);
  }
  if (at_top && root) s.copy(result, p.whole_output(), {pipelined(ready)}, cut);
  if (at_top && !root) s.send(p.root, result, {pipelined(ready)}, cut, 1);
  if (!at_top && root) {
    // In place, the operand is overwritten only after its last use.
    s.recv(top, p.whole_output(), {p.in_place ? Dep(ready) : Dep(no_op), p.in_place ? Dep(sent) : Dep(no_op)}, cut, 1);
  }
  return s;
}

}  // namespace

extern const Algorithm reduce{
    .collective = Collective::reduce,
    .name = "binomial",
    .summary = "a binomial tree; short messages, any number of ranks",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::reduce_by_binomial
