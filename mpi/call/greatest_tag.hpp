// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

namespace antiphon::mpi {

/// Returns the greatest tag that the library takes; that of the standard if it does not say.
inline int greatest_tag() {
  int* greatest = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&greatest), &found);
  return found != 0 ? *greatest : 32767;
}

}  // namespace antiphon::mpi
