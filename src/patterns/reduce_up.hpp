// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "antiphon/problem.hpp"
#include "patterns/tree.hpp"

namespace antiphon {

/// What a rank has after its part of a reduction to the root of a tree.
struct ReducedUp {
  Range result;         ///< the tree's root: where the result is; others: what was sent
  Dep ready = no_op;    ///< the tree's root: the result is there, piece by piece
  OpId sent = no_op;    ///< others: it has left
};

/// `operand` is reduced up a tree on ranks, segment by segment, one child at a time sending to a port. Subtrees must be runs of ranks;
/// they are combined in order, so any operation will do. `tree_at` gives every rank's place in the tree.
ReducedUp reduce_up(Schedule& s, const Problem& p, const std::function<Tree(int)>& tree_at, const Range& operand, Cut cut, int tag = 0);

}  // namespace antiphon
