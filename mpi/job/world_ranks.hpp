// SPDX-License-Identifier: Apache-2.0
// These functions give the ranks of a communicator as ranks of MPI_COMM_WORLD.
#pragma once

#include <mpi.h>

#include <vector>

namespace antiphon::mpi {

/// Returns them by rank of the communicator's local group; MPI_UNDEFINED stands for processes of other jobs.
std::vector<int> world_ranks(MPI_Comm comm);
/// Returns them by rank of an intercommunicator's remote group; otherwise does the same as world_ranks().
std::vector<int> world_ranks_of_peers(MPI_Comm comm);
/// Tells whether all are ranks of MPI_COMM_WORLD.
bool all_in_world(const std::vector<int>& ranks);
/// Returns the node of each of these ranks of the world (World::node_of_rank); empty if a process is of another job.
std::vector<int> nodes_of_ranks(std::vector<int> ranks);
/// Returns the same as numbers along the tree of switches (Switches::node_of_rank) where that is known.
std::vector<int> nodes_along_tree(std::vector<int> ranks);

}  // namespace antiphon::mpi
