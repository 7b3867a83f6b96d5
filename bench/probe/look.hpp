// SPDX-License-Identifier: Apache-2.0
// How ranks wait while others share their core.
#pragma once

#include <mpi.h>

#include <span>

namespace probe {

/// Tells whether a vain test keeps the core: MPICH's does; Open MPI's gives it to the next rank if ranks share the
/// core.
bool tests_keep_the_core();

/// Looks once at messages, as Antiphon's schedules do. Returns whether all are done; if not, others have had the core
/// meanwhile (`yields`: a test keeps it, so this gives it away).
bool look(std::span<MPI_Request> requests, bool yields);

}  // namespace probe
