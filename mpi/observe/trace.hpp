// SPDX-License-Identifier: Apache-2.0
// Records a run (docs/reference/trace.md): which calls it makes, on which communicators, with how many bytes, and when.
#pragma once

#include <atomic>

namespace antiphon::mpi::trace {

namespace detail {
inline std::atomic<bool> recording{false};
}

/// Tells whether a trace is recorded.
inline bool on() { return detail::recording.load(std::memory_order_relaxed); }

/// Starts recording if the settings ask for it. Collective over MPI_COMM_WORLD.
void start();
/// Brings all ranks' streams together in one file, on rank 0. Collective over MPI_COMM_WORLD.
void finish();

}  // namespace antiphon::mpi::trace
