// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/problem.hpp"

namespace antiphon {

/// scatter, scatterv: the root sends every rank its block, to at most `destinations` at a time (parameters piece_bytes,
/// window, destinations). Empty blocks are not sent. Needs nothing that MPI does not tell each rank.
Schedule scatter_flat(const Problem& p);

/// gather, gatherv: every rank sends its block to the root; one longer than eager_bytes only when the root grants it,
/// to at most `senders` at a time (parameters piece_bytes, window, senders, eager_bytes). Empty blocks are not sent.
/// Needs nothing that MPI does not tell each rank: both sides of a message know its size, and so whether it is granted.
Schedule gather_flat(const Problem& p);

}  // namespace antiphon
