// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/problem.hpp"
#include "patterns/tree.hpp"

namespace antiphon {

// Rooted collectives in which a message holds the blocks of a whole subtree. The tree is on places relative to the
// root, and its subtrees are runs of places. For scatterv and gatherv every rank must know all counts.

/// scatter, scatterv: this rank gets the blocks of its subtree and passes on all but its own (parameters piece_bytes,
/// window).
Schedule scatter_subtrees(const Problem& p, Tree tree);

/// gather, gatherv: this rank gathers the blocks of its subtree and passes them on together. Messages longer than
/// eager_bytes are asked for, one subtree after the other (parameters piece_bytes, window, eager_bytes).
Schedule gather_subtrees(const Problem& p, Tree tree);

}  // namespace antiphon
