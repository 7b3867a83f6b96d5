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

#include <atomic>

#include "call/call.hpp"

namespace antiphon::mpi {

struct P2pCall;

namespace persistent {

namespace detail {
inline std::atomic<int> existing{0};
inline std::atomic<int> active{0};
}  // namespace detail

/// Whether there are requests of ours.
inline bool in_use() { return detail::existing.load(std::memory_order_relaxed) > 0; }
/// Whether one of them is started and not done.
inline bool active() { return detail::active.load(std::memory_order_relaxed) > 0; }

/// MPI_X_init. True: done. False: it is for the library; the same on every rank. `always`: also where the rules leave a
/// blocking call of the kind to the library.
bool init(const Call& call, MPI_Request* request, int& result, bool always = false);
/// A call that concerns requests or messages, before the library sees it. True: done here.
bool handle(const P2pCall& call, int& result);
/// Goes on with all that is started, as far as it can without waiting.
void progress();
/// Waits for a request of the library, and goes on with all that is started meanwhile. Returns an MPI error code.
int wait_for(MPI_Request& request);
/// A blocking collective that the library is to do, as a nonblocking one beside which schedules go on. All ranks must
/// do it this way, or none. False: there is none for it.
bool run_aside(const Call& call, int& result);
/// Forgets what the program did not free.
void release_all();

}  // namespace persistent
}  // namespace antiphon::mpi
