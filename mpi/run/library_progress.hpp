// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "job/progress_hook.hpp"

namespace antiphon::mpi {

/// Lets the library advance its own messages, unless it is doing so. Returns an MPI error code.
inline int move_library_on(MPI_Comm comm) {
  if (progress_hook::forbids_progress()) return MPI_SUCCESS;
  int found = 0;
  return PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
}

/// Tells whether a request of the library is complete, and ends it then. Within the library's progress it only looks.
inline bool is_over(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return true;
  if (progress_hook::forbids_progress() && !progress_hook::is_complete(request)) return false;
  int done = 0;
  PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

}  // namespace antiphon::mpi
