// SPDX-License-Identifier: Apache-2.0
// For MPI-4 persistent collectives, MPI_X_init gathers all counts, makes the schedule and binds it; starting the
// request only runs the schedule.
//
// MPI_Start starts the library's own persistent request (program_request.hpp) together with the schedule.
//
// Progress: schedules advance in every MPI call in which the library makes progress, if it lets others take part in
// that (job/progress_hook.hpp). If not, they advance in calls that wait for, test or start requests, that send, receive
// or probe, and in blocking collectives of the same communicator among those that are wrapped (calls.txt); then do not
// put another blocking call between MPI_Start and its completion where another rank waits for this one. Computing makes
// no progress.
#pragma once

#include <mpi.h>

#include "call/call.hpp"

namespace antiphon::mpi::persistent {

/// Performs MPI_X_init. Returns false, on every rank alike, if the library must do it. `always` includes collectives
/// that the rules leave to the library when they are blocking.
bool init(const Call& call, MPI_Request* request, int& result, bool always = false);
/// Makes waits in wrapped calls advance nonblocking calls, too, and give the core away as those of schedules do.
void wait_beside_nonblocking();
/// Forgets what the program did not free.
void release_all();

}  // namespace antiphon::mpi::persistent
