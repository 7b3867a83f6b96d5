// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace antiphon::mpi {

/// Returns, on rank 0 of `comm`, the name of each rank's node (from ANTIPHON_NODES if that is set); the result is empty
/// on the other ranks. The call is collective.
std::vector<std::string> gather_host_names(MPI_Comm comm);

}  // namespace antiphon::mpi
