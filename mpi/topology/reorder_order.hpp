// SPDX-License-Identifier: Apache-2.0
// These functions decide which process gets which rank of a new communicator.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace antiphon::mpi::reordering {

/// Holds a neighbour that the program declares, by ranks of the new communicator.
struct Edge {
  int from = 0;
  int to = 0;
  double weight = 1;
};

/// Returns the number of a communicator's ranks.
int size_of(MPI_Comm comm);

/// Tells whether an order may be sought for ranks of `old` at all. The answer is the same on all ranks and needs no
/// communication.
bool eligible(MPI_Comm old, int reorder);

/// Returns the new rank of each process of `old`; −1 means that it is not in the new communicator, which has `ranks`
/// ranks. Only rank 0 calls `edges`. Returns nothing, on all ranks alike, if the processes are best as they are.
/// Collective over `old`.
std::optional<std::vector<int>> new_ranks(MPI_Comm old, int ranks, const std::function<std::vector<Edge>()>& edges,
                                          const char* call);

/// Makes a communicator of the processes of `old` in that order, without those that have no rank (they get
/// MPI_COMM_NULL). Returns an MPI error code.
int split(MPI_Comm old, const std::vector<int>& new_ranks, MPI_Comm* placed);

/// Returns MPI_UNWEIGHTED, which in MPICH is a variable of the library.
const int* unweighted();

}  // namespace antiphon::mpi::reordering
