// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "antiphon/problem.hpp"
#include "patterns/tree.hpp"

namespace antiphon {

/// A rank's operand combined with what others sent.
struct Combined {
  Range result;        ///< the operand itself where there was nothing to combine
  OpId ready = no_op;  ///< the result is there, piece by piece
};

/// Combines this rank's operand with those of `children` (ranks, in the order in which to combine them), one after the
/// other, so that they cannot overrun a port: where `asked`, each child gets a token when its turn comes. An operand is
/// combined into the buffer in which it came, which is then the left operand of the next; two buffers take turns, and
/// no operand is copied.
Combined combine_children(Schedule& s, const std::vector<int>& children, const Range& operand, bool asked, Cut cut,
                          int tag = 0);

/// What a rank has after its part of a reduction to the root of a tree.
struct ReducedUp {
  Range result;       ///< the tree's root: where the result is; others: what was sent
  Dep ready = no_op;  ///< the tree's root: the result is there, piece by piece
  OpId sent = no_op;  ///< others: it has left
};

/// `operand` is reduced up a tree on ranks, segment by segment, one child at a time sending to a port. Subtrees must be
/// runs of ranks; they are combined in order, so any operation will do. `tree_at` gives every rank's place in the tree.
ReducedUp reduce_up(Schedule& s, const Problem& p, const std::function<Tree(int)>& tree_at, const Range& operand,
                    Cut cut, int tag = 0);

}  // namespace antiphon
