// SPDX-License-Identifier: Apache-2.0
// Which process gets which rank of a new communicator.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace antiphon::mpi::reordering {

/// A neighbour that the program declares, by ranks of the new communicator.
struct Edge {
  int from = 0;
  int to = 0;
  double weight = 1;
};

/// Whether an order may be sought for ranks of `old` at all; alike on all of them, without communication.
bool eligible(MPI_Comm old, int reorder);

/// The new rank of each process of `old`; −1: it is not in the new communicator, which has `ranks`. `edges` is called
/// on rank 0 alone. Nothing, on all ranks alike, where the processes are best as they are. Collective over `old`.
std::optional<std::vector<int>> new_ranks(MPI_Comm old, int ranks, const std::function<std::vector<Edge>()>& edges,
                                          const char* call);

/// The processes of `old` in that order, those without a rank left out (there: MPI_COMM_NULL). An MPI error code.
int split(MPI_Comm old, const std::vector<int>& new_ranks, MPI_Comm* placed);

/// MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY, which in MPICH are variables of the library.
const int* unweighted();
const int* weights_empty();

}  // namespace antiphon::mpi::reordering
