// SPDX-License-Identifier: Apache-2.0
// Nonblocking collectives run as schedules beside the program: MPI_IX begins the schedule, the library's progress
// advances it, and the request ends when it is done.
//
// Starting never waits for other ranks: what a schedule needs from them before it can begin, an operation waits for
// itself, and a choice that would need more is left to the library.
#pragma once

#include <mpi.h>

#include "call/call.hpp"
#include "entry/outcome.hpp"

namespace antiphon::mpi {

/// Starts the call as a schedule if that is the decision. If the call is not done, nothing has been started: the caller
/// calls the library, then passed_on(). Whether it is done is the same on every rank of the communicator.
Outcome start_nonblocking(const Call& call, MPI_Request* request);

}  // namespace antiphon::mpi
