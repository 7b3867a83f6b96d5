// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace antiphon::mpi {

/// The name of the node of each rank of `comm` (by ANTIPHON_NODES where that is set), on its rank 0; elsewhere empty.
/// Collective.
std::vector<std::string> gather_host_names(MPI_Comm comm);

}  // namespace antiphon::mpi
