// SPDX-License-Identifier: Apache-2.0
// Finds what the library's messages between nodes travel by, and on which interface.
#pragma once

#include <vector>

#include "network/agree.hpp"

namespace antiphon::mpi {

/// Returns the same answer on all ranks. It reads what the library has opened for the messages so far, so all nodes
/// must have exchanged some. The call is collective over MPI_COMM_WORLD.
network::Network find_network(const std::vector<int>& node_of_rank);

}  // namespace antiphon::mpi
