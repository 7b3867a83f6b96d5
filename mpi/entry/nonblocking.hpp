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
/// calls the library, then left_to_library(). Whether it is done is the same on every rank of the communicator.
Outcome start_nonblocking(const Call& call, MPI_Request* request);

/// Notes that the library has started the call, with this request; null: it reported an error.
void left_to_library(const Call& call, const Outcome& outcome, const MPI_Request* request);

}  // namespace antiphon::mpi
