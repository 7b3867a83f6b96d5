// SPDX-License-Identifier: Apache-2.0
#include "patterns/broadcast.hpp"

#include "patterns/cut.hpp"

namespace antiphon {

OpId broadcast_down(Schedule& s, const Problem& p, const Tree& tree, const Range& range, Cut cut, Serve serve,
                    int tag) {
  OpId have = no_op;
  if (tree.parent >= 0) have = s.recv(p.absolute(tree.parent), range, {}, cut, tag);
  OpId before = no_op;
  for (const int child : tree.children) {
    const OpId sent = s.send(p.absolute(child), range, {pipelined(have)}, cut, tag);
    if (serve == Serve::one_after_another) s.after(following(before, pieces_of(range.bytes, cut), cut));
    before = sent;
  }
  return have;
}

OpId scatter_output_down(Schedule& s, const Problem& p, const Tree& tree, const Partition& blocks, Cut cut) {
  OpId have = no_op;
  if (tree.parent >= 0 && blocks.size(tree.first, tree.last) > 0) {
    have = s.recv(p.absolute(tree.parent), blocks.of(p.whole_output(), tree.first, tree.last), {}, cut);
  }
  OpId before = no_op;
  std::int64_t before_pieces = 0;
  int end = tree.last;
  for (const int child : tree.children) {  // the farthest child first: its subtree is the last run of places
    const Range range = blocks.of(p.whole_output(), child, end);
    end = child;
    if (range.bytes == 0) continue;
    const OpId sent = s.send(p.absolute(child), range, {have}, cut);
    s.after(following(before, before_pieces, cut));
    before = sent;
    before_pieces = pieces_of(range.bytes, cut);
  }
  return have;
}

}  // namespace antiphon
