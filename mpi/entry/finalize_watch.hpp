// SPDX-License-Identifier: Apache-2.0
// MPI_Finalize of some libraries may never return. A run that is done but for that is ended.
#pragma once

namespace antiphon::mpi {

/// Waits until all ranks have come to MPI_Finalize, then starts to watch that the library leaves it in time. The call
/// is collective over MPI_COMM_WORLD.
void watch_finalize();
/// The library has left MPI_Finalize.
void finalize_returned();

}  // namespace antiphon::mpi
