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

}  // namespace antiphon::mpi
