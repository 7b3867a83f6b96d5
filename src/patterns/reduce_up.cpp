// SPDX-License-Identifier: Apache-2.0
#include "patterns/reduce_up.hpp"

#include <algorithm>

#include "patterns/cut.hpp"

namespace antiphon {

namespace {

/// Operands up to this come without being asked for, each into memory of its own: asking takes as long as they do.
constexpr std::int64_t short_bytes = 1024;

}  // namespace

Combined combine_children(Schedule& s, const std::vector<int>& children, const Range& operand, bool asked, Cut cut,
                          int tag) {
  const Cut local{cut.piece_bytes, 0};
  const std::int64_t pieces = pieces_of(operand.bytes, cut);
  std::vector<Range> buffers(operand.bytes <= short_bytes ? children.size()
                                                          : std::min<std::size_t>(children.size(), 2));
  for (Range& buffer : buffers) buffer = s.scratch(operand.bytes);
  std::vector<OpId> free(buffers.size(), no_op);  // the operation after which each buffer is free
  Combined done{operand};
  OpId received = no_op;
  std::size_t turn = 0;
  for (const int child : children) {
    const Dep next = asked || operand.bytes > short_bytes ? following(received, pieces, cut) : Dep(no_op);
    if (asked) s.send_token(child, {next}, tag);
    received = s.recv(child, buffers[turn], {next, pipelined(free[turn])}, cut, tag);
    done.ready = s.reduce(done.result, buffers[turn], {pipelined(received), pipelined(done.ready)}, local);
    done.result = buffers[turn];
    turn = (turn + 1) % buffers.size();
    if (children.size() > buffers.size()) free[turn] = done.ready;
  }
  return done;
}

ReducedUp reduce_up(Schedule& s, const Problem& p, const std::function<Tree(int)>& tree_at, const Range& operand,
                    Cut cut, int tag) {
  const Tree tree = tree_at(p.rank);
  std::vector<int> in_order = tree.children;
  std::sort(in_order.begin(), in_order.end());
  const Combined combined =
      combine_children(s, in_order, operand, operand.bytes > short_bytes && tree.children.size() > 1, cut, tag);
  ReducedUp up{combined.result, pipelined(combined.ready)};
  if (tree.parent < 0) return up;
  // A parent with several children asks one after the other.
  const bool asked = operand.bytes > short_bytes && tree_at(tree.parent).children.size() > 1;
  const OpId granted = asked ? s.recv_token(tree.parent, {}, tag) : no_op;
  up.sent = s.send(tree.parent, up.result, {granted, up.ready}, cut, tag);
  return up;
}

}  // namespace antiphon
