// SPDX-License-Identifier: Apache-2.0
// The switches that the job's nodes are on.
#pragma once

#include <string>
#include <vector>

#include "antiphon/profile.hpp"

namespace antiphon::mpi {

struct Switches {
  Topology topology;              ///< of the job's nodes, along the tree; no nodes: unknown, or one switch
  std::vector<int> node_of_rank;  ///< by rank of MPI_COMM_WORLD: a node of the topology
  std::string source;             ///< what says so

  [[nodiscard]] bool known() const { return !topology.nodes.empty(); }
  /// Returns how many switches have nodes of the job.
  [[nodiscard]] int count() const;
};

}  // namespace antiphon::mpi
