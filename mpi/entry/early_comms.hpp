// SPDX-License-Identifier: Apache-2.0
// A nonblocking call cannot make Antiphon's own communicator, nor can, with Open MPI, blocking calls of several
// threads: other ranks may come to these calls in another order. So it is made where the program makes its own.
#pragma once

#include <mpi.h>

namespace antiphon::mpi {

/// Makes that of MPI_COMM_WORLD if calls could need any. Collective over MPI_COMM_WORLD.
void start_early_comms();
/// Makes that of a communicator that the program has just made out of `parent`, if it is granted one. `made` is
/// MPI_COMM_NULL on ranks outside it. Collective over `parent`, as the program's call.
void also_make_own(MPI_Comm parent, MPI_Comm made);

}  // namespace antiphon::mpi
