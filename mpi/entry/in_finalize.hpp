// SPDX-License-Identifier: Apache-2.0
// The library deletes the attributes of MPI_COMM_SELF first of all in MPI_Finalize, the latest first. So programs and
// their libraries, as HDF5, end there what still needs MPI.
#pragma once

#include <mpi.h>

namespace antiphon::mpi {

/// Sees to it that MPI_Finalize calls `function` with `value` after what has been set later, by the program as well.
/// Returns false if the library does not.
bool call_in_finalize(MPI_Comm_delete_attr_function* function, void* value);

}  // namespace antiphon::mpi
