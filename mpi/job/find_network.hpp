// SPDX-License-Identifier: Apache-2.0
// Finds what the library's messages between nodes travel by, and on which interface.
#pragma once

#include <string>
#include <vector>

#include "network/agree.hpp"

namespace antiphon::mpi {

/// What rank 0 knows when all ranks have said what they see; empty on the others.
struct Seen {
  network::Network network;        ///< as the system says it, before any measurement
  std::vector<std::string> hosts;  ///< by rank
};

/// Reads what the library has opened for the messages so far, so all nodes must have exchanged some. The call is
/// collective over MPI_COMM_WORLD.
Seen look_at_nodes(const std::vector<int>& node_of_rank);

/// The same for a job on one node, or on nodes that are only assumed: every rank knows it. `cores` are those that its
/// ranks may use; 0: unknown.
network::Network network_of_one_node(int cores, int ranks);

}  // namespace antiphon::mpi
