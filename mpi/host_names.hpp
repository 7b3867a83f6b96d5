// SPDX-License-Identifier: Apache-2.0
// Where ranks really are, by name.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace antiphon::mpi {

/// The name of the node of each rank of `comm`, on its rank 0; elsewhere empty. Collective.
std::vector<std::string> gather_host_names(MPI_Comm comm);

/// ANTIPHON_NODES, "node01*4,node02*4": each rank's node in the order of ranks. Empty where it is wrong.
std::vector<std::string> parse_nodes(const std::string& text);

}  // namespace antiphon::mpi
