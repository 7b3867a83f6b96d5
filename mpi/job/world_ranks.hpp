// SPDX-License-Identifier: Apache-2.0
// Ranks of a communicator as ranks of MPI_COMM_WORLD.
#pragma once

#include <mpi.h>

#include <vector>

namespace antiphon::mpi {

/// By rank of the communicator's local group; MPI_UNDEFINED for processes of other jobs.
std::vector<int> world_ranks(MPI_Comm comm);
/// Of an intercommunicator, by rank of the remote group; else as above.
std::vector<int> world_ranks_of_peers(MPI_Comm comm);
/// Whether all are ranks of MPI_COMM_WORLD.
bool all_in_world(const std::vector<int>& ranks);
/// The node of each rank of the communicator (World::node_of_rank); empty if a process is of another job.
std::vector<int> nodes_of_ranks(MPI_Comm comm);

}  // namespace antiphon::mpi
