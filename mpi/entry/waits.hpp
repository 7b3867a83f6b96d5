// SPDX-License-Identifier: Apache-2.0
// Calls that wait look repeatedly instead, so that operations under way (job/progress.hpp) advance meanwhile.
#pragma once

#include <mpi.h>

#include "observe/watch.hpp"

namespace antiphon::mpi {

/// Waits for a request of the library. Returns an MPI error code.
int wait_for(MPI_Request& request);
/// Performs MPI_Wait and similar calls. Returns false if the call is not one of them.
bool wait_for_requests(const P2pCall& call, int& result);
/// Performs blocking messages and probes as nonblocking ones, and waits for those. Returns false if the call is not one
/// of them.
bool wait_for_message(const P2pCall& call, int& result);

}  // namespace antiphon::mpi
