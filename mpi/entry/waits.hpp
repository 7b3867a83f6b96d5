// SPDX-License-Identifier: Apache-2.0
// Calls that wait, done by looking again and again, so that operations under way (job/progress.hpp) go on meanwhile.
#pragma once

#include <mpi.h>

#include "observe/watch.hpp"

namespace antiphon::mpi {

/// Waits for a request of the library. Returns an MPI error code.
int wait_for(MPI_Request& request);
/// MPI_Wait and its kin. False: the call is none of them.
bool wait_for_requests(const P2pCall& call, int& result);
/// Blocking messages and probes, as nonblocking ones that are waited for. False: the call is none of them.
bool wait_for_message(const P2pCall& call, int& result);

}  // namespace antiphon::mpi
