// SPDX-License-Identifier: Apache-2.0
// How ranks wait while others share their core.
#pragma once

#include <mpi.h>

#include <span>

namespace probe {

/// Whether testing in vain keeps the core: MPICH's tests do, Open MPI's give it to the next rank where ranks share it.
bool tests_keep_the_core();

/// One look at messages as Antiphon's schedules wait for theirs: whether all are done; if not, others had the core
/// (`yields`: tests keep it).
bool look(std::span<MPI_Request> requests, bool yields);

}  // namespace probe
