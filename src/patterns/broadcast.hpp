// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/problem.hpp"
#include "patterns/partition.hpp"
#include "patterns/tree.hpp"

namespace antiphon {

/// How a place serves its children.
enum class Serve : std::uint8_t {
  one_after_another,  ///< all of the message to the first, then the next: those served first can pass it on early
  interleaved,        ///< piece by piece to all in turn: all of them have it as late as the last
};

/// `range` of the root's memory comes down the tree (on places relative to the root), piece by piece. Returns its
/// arrival (no_op at the tree's root).
OpId broadcast_down(Schedule& s, const Problem& p, const Tree& tree, const Range& range, Cut cut, Serve serve,
                    int tag = 0);

/// The root's output is cut into one block a place (tree: a tree whose subtrees are runs of places, such as the
/// binomial one); every place gets the blocks of its subtree, in their place in the output. Returns their arrival
/// (no_op at the root).
OpId scatter_output_down(Schedule& s, const Problem& p, const Tree& tree, const Partition& blocks, Cut cut);

}  // namespace antiphon
