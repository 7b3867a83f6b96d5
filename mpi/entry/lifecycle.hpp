// SPDX-License-Identifier: Apache-2.0
// From MPI_Init to MPI_Finalize: what starts and stops all rooms, in their order.
#pragma once

namespace antiphon::mpi {

/// After the program's MPI_Init(_thread) succeeded: reads the settings and distributes them.
void after_init();
/// Before the library's MPI_Finalize: writes the summary, frees all communicators' state.
void before_finalize();

}  // namespace antiphon::mpi
