// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <optional>
#include <vector>

namespace antiphon::mpi {

/// Holds what rules and schedules need to know of a communicator.
struct CommShape {
  int rank = 0;
  int size = 0;
  int nodes = 1;
  int max_ranks_per_node = 1;
  int stride = 0;                 ///< as Question::stride
  bool blocked = true;            ///< each node's ranks are consecutive
  std::vector<int> node_of_rank;  ///< as World::node_of_rank
  std::vector<int> along_nodes;   ///< all ranks, node by node; empty if they are blocked
  std::vector<int> node_sizes;    ///< as node_sizes_of()
};

/// Finds the shape without communication. Returns nothing if Antiphon must not act: for an intercommunicator, a single
/// rank, or processes of other jobs.
std::optional<CommShape> shape_of(MPI_Comm comm);

}  // namespace antiphon::mpi
