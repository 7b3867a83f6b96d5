// SPDX-License-Identifier: Apache-2.0
// Which socket of its node a rank is bound to.
#pragma once

#include <mpi.h>

#include <vector>

namespace antiphon::mpi {

/// The socket of each rank of `comm`, a number that is alike for those of one socket of a node, on its rank 0;
/// elsewhere empty. -1: bound to none, or to more than one. Collective.
std::vector<int> gather_sockets(MPI_Comm comm);

}  // namespace antiphon::mpi
