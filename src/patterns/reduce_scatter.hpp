// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/problem.hpp"

namespace antiphon {

// Algorithms of both reduce_scatter and reduce_scatter_block; their files in src/collectives tell what they are and
// when they are good.

/// Parameters segment_bytes, window. Commutative operations.
Schedule reduce_scatter_ring(const Problem& p);
/// Parameters piece_bytes, window, sync, token_bytes.
Schedule reduce_scatter_pairwise(const Problem& p);
/// Parameters piece_bytes, window. Commutative operations.
Schedule reduce_scatter_halving(const Problem& p);
/// Parameters piece_bytes, window. Any operation.
Schedule reduce_scatter_butterfly(const Problem& p);

}  // namespace antiphon
