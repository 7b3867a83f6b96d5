// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/problem.hpp"
#include "patterns/partition.hpp"
#include "patterns/tree.hpp"

namespace antiphon {

/// How a place serves its children.
enum class Serve : std::uint8_t {
  one_after_another,  ///< all of the message to the first, then the next: the first ones can pass it on early
  interleaved,        ///< piece by piece to all in turn: all of them have it as late as the last one
};

/// `range` of the root's memory comes down the tree (on places relative to the root), piece by piece. Returns its
/// arrival (no_op at the tree's root).
OpId broadcast_down(Schedule& s, const Problem& p, const Tree& tree, const Range& range, Cut cut, Serve serve,
                    int tag = 0);

/// The root's output is cut into one block per place; every place gets the blocks of its subtree, at their places in
/// the output. The subtrees of `tree` must be runs of places, as the binomial tree's are. Returns their arrival (no_op
/// at the root).
OpId scatter_output_down(Schedule& s, const Problem& p, const Tree& tree, const Partition& blocks, Cut cut);

}  // namespace antiphon
