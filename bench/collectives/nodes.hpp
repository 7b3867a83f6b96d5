// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace bench {

/// Nodes numbered by their first rank, told apart by their processors' names.
std::vector<int> node_of_each_rank(MPI_Comm comm, int size);
/// The MPI library's own words, the first line.
std::string library_version();

}  // namespace bench
