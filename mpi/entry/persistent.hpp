// SPDX-License-Identifier: Apache-2.0
// MPI-4 persistent collectives: knowledge gathered, scheduled and bound when they are initialised; starting them only
// runs that.
//
// A request is one of the library's own: a persistent receive of an empty message from this rank itself, on a
// communicator of one. MPI_Start starts it together with the schedule, and the message is sent when the schedule is
// done. So everything that can be done with requests works on it, beside any others, and the library keeps their
// meaning.
//
// Progress: schedules go on in calls that wait for, test or start requests, that send, receive or probe, and in
// blocking collectives of the same communicator among those that are wrapped (calls.txt). Computing makes no progress;
// nor do collectives of other communicators that the library does, nor other blocking calls (MPI_Win_fence, file
// access, MPI_Comm_split): do not put one between MPI_Start and its completion where another rank waits for this one.
#pragma once

#include <mpi.h>

#include "call/call.hpp"
#include "job/progress.hpp"

namespace antiphon::mpi {

namespace persistent {

/// The older names of job/progress.hpp's, for run/.
inline bool active() { return operations_under_way(); }
inline void progress() { make_progress(); }

/// MPI_X_init. True: done. False: it is for the library; the same on every rank. `always`: also where the rules leave a
/// blocking call of the kind to the library.
bool init(const Call& call, MPI_Request* request, int& result, bool always = false);
/// Waits for a request of the library, and goes on with all that is started meanwhile. Returns an MPI error code.
int wait_for(MPI_Request& request);
/// A blocking collective that the library is to do, as a nonblocking one beside which schedules go on. All ranks must
/// do it this way, or none. False: there is none for it.
bool run_aside(const Call& call, int& result);
/// Forgets what the program did not free.
void release_all();

}  // namespace persistent
}  // namespace antiphon::mpi
