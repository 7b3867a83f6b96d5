// SPDX-License-Identifier: Apache-2.0
#include "patterns/reduce_up.hpp"

#include <algorithm>

#include "patterns/cut.hpp"

namespace antiphon {

Combined combine_children(Schedule& s, const std::vector<int>& children, const Range& operand, bool asked, Cut cut, int tag) {
  const Cut local{cut.piece_bytes, 0};
  const std::int64_t pieces = pieces_of(operand.bytes, cut);
  const Range buffers[2] = {children.empty() ? Range{} : s.scratch(operand.bytes), children.size() < 2 ? Range{} : s.scratch(operand.bytes)};
  OpId free[2] = {no_op, no_op};  // when each buffer has been read
  Combined done{operand};
  OpId received = no_op;
  int turn = 0;
  for (const int child : children) {
    const Dep next = following(received, pieces, cut);
    if (asked) s.send_token(child, {next}, tag);
    received = s.recv(child, buffers[turn], {next, pipelined(free[turn])}, cut, tag);
    done.ready = s.reduce(done.result, buffers[turn], {pipelined(received), pipelined(done.ready)}, local);
    done.result = buffers[turn];
    turn ^= 1;
    free[turn] = done.ready;
  }
  return done;
}

ReducedUp reduce_up(Schedule& s, const Problem& p, const std::function<Tree(int)>& tree_at, const Range& operand, Cut cut, int tag) {
  const Tree tree = tree_at(p.rank);
  std::vector<int> in_order = tree.children;
  std::sort(in_order.begin(), in_order.end());
  const Combined combined = combine_children(s, in_order, operand, tree.children.size() > 1, cut, tag);
  ReducedUp up{combined.result, pipelined(combined.ready)};
  if (tree.parent < 0) return up;
  // A parent of several children asks one after the other.
  const bool asked = tree_at(tree.parent).children.size() > 1;
  const OpId granted = asked ? s.recv_token(tree.parent, {}, tag) : no_op;
  up.sent = s.send(tree.parent, up.result, {granted, up.ready}, cut, tag);
  return up;
}

}  // namespace antiphon
