// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/problem.hpp"

namespace antiphon {

// Allgather algorithms that also do for allgatherv; their files in src/collectives tell what they are and when they are
// good.

/// Parameters segment_bytes, window.
Schedule allgather_ring(const Problem& p);
/// Parameters radix, piece_bytes, window.
Schedule allgather_bruck(const Problem& p);
/// Parameters concurrency, piece_bytes, window.
Schedule allgather_concurrent(const Problem& p);

}  // namespace antiphon
