// SPDX-License-Identifier: Apache-2.0
// Communicators for Antiphon's own messages. MPI_Comm_dup would copy the program's attributes, too: their copy and
// delete functions would run for a communicator that the program knows nothing of.
#pragma once

#include <mpi.h>

namespace antiphon::mpi {

/// Does MPI_Comm_create: the result has no attributes, and is MPI_COMM_NULL on ranks outside their `group` and where
/// the library can make no more communicators, of which the program's error handler hears nothing. Errors of calls on
/// it are returned. Collective over `from`.
MPI_Comm create_comm(MPI_Comm from, MPI_Group group);
/// Returns a communicator of the same ranks in the same order.
MPI_Comm bare_copy(MPI_Comm of);

/// Makes the communicator of this process alone.
void make_comm_of_self();
/// Returns it.
MPI_Comm comm_of_self();
void free_comm_of_self();

}  // namespace antiphon::mpi
