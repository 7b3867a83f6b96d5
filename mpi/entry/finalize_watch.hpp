// SPDX-License-Identifier: Apache-2.0
// MPI_Finalize of some libraries may never return. A run that is done but for that is ended.
#pragma once

namespace antiphon::mpi {

/// Sees to it that once all ranks have come to MPI_Finalize, and what the program does there by attributes of
/// MPI_COMM_SELF is done, a watch begins that the library leaves it in time. Attributes that are set later go first.
void prepare_finalize_watch();
/// Notes that a rank has connected the job to processes outside MPI_COMM_WORLD. MPI_Finalize may wait for those as long
/// as they run, so no watch begins.
void note_connection();
/// The library has left MPI_Finalize.
void finalize_returned();

}  // namespace antiphon::mpi
