// SPDX-License-Identifier: Apache-2.0
#include "patterns/reduce_up.hpp"

#include <algorithm>

#include "patterns/cut.hpp"

namespace antiphon {

ReducedUp reduce_up(Schedule& s, const Problem& p, const std::function<Tree(int)>& tree_at, const Range& operand, Cut cut, int tag) {
  const Cut local{cut.piece_bytes, 0};
  const Tree tree = tree_at(p.rank);
  const std::int64_t pieces = pieces_of(operand.bytes, cut);

  // What comes is combined into where it came to, and is then the left operand of the next: two buffers in turns.
  const Range buffers[2] = {tree.children.empty() ? Range{} : s.scratch(operand.bytes),
                            tree.children.size() < 2 ? Range{} : s.scratch(operand.bytes)};
  OpId free[2] = {no_op, no_op};
  ReducedUp up{operand};
  OpId received = no_op;
  int turn = 0;
  std::vector<int> in_order = tree.children;
  std::sort(in_order.begin(), in_order.end());
  for (const int child : in_order) {
    const Dep next = following(received, pieces, cut);
    if (tree.children.size() > 1) s.send_token(child, {next}, tag);
    received = s.recv(child, buffers[turn], {next, pipelined(free[turn])}, cut, tag);
    const OpId combined = s.reduce(up.result, buffers[turn], {pipelined(received), up.ready}, local);
    up.ready = pipelined(combined);
    free[turn ^ 1] = combined;
    up.result = buffers[turn];
    turn ^= 1;
  }
  if (tree.parent < 0) return up;
  // A parent of several children asks one after the other.
  const bool asked = tree_at(tree.parent).children.size() > 1;
  const OpId granted = asked ? s.recv_token(tree.parent, {}, tag) : no_op;
  up.sent = s.send(tree.parent, up.result, {granted, up.ready}, cut, tag);
  return up;
}

}  // namespace antiphon
