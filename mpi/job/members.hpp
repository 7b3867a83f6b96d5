// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

namespace antiphon::mpi {

/// Does MPI_Comm_group, which in MPICH 5.0 adds ranks of the parent behind those of a smaller grid or graph. The caller
/// frees the group.
MPI_Group members_of(MPI_Comm comm);

}  // namespace antiphon::mpi
