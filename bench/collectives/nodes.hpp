// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace bench {

/// Numbers nodes in the order of their first ranks; processor names distinguish them.
std::vector<int> node_of_each_rank(MPI_Comm comm, int size);
/// The first line of the MPI library's own version text.
std::string library_version();

}  // namespace bench
