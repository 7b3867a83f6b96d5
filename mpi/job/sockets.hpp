// SPDX-License-Identifier: Apache-2.0
// A rank is bound to a socket of its node; this function finds which one.
#pragma once

#include <mpi.h>

#include <vector>

namespace antiphon::mpi {

/// Returns, on rank 0 of `comm`, the socket of each rank; the result is empty on the other ranks. Ranks on the same
/// socket of a node have the same number; -1 means that a rank is bound to no socket or to more than one. The call is
/// collective.
std::vector<int> gather_sockets(MPI_Comm comm);

}  // namespace antiphon::mpi
