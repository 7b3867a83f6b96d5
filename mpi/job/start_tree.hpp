// SPDX-License-Identifier: Apache-2.0
// Who speaks to whom while MPI starts: a binary tree of the ranks of MPI_COMM_WORLD, with rank 0 on top.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <vector>

namespace antiphon::mpi {

struct StartTree {
  int rank = 0;
  int size = 1;

  /// Returns this process's place.
  static StartTree of_world() {
    StartTree tree;
    PMPI_Comm_rank(MPI_COMM_WORLD, &tree.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &tree.size);
    return tree;
  }

  /// Returns the rank above; rank 0 has none.
  [[nodiscard]] int parent() const { return (rank - 1) / 2; }

  /// Returns the ranks below, lowest first.
  [[nodiscard]] std::vector<int> children() const {
    std::vector<int> found;
    for (int child = 2 * rank + 1; child <= 2 * rank + 2 && child < size; ++child) found.push_back(child);
    return found;
  }
};

/// Waits for a message and returns what it is. Ranks that share a core give it away meanwhile, which not every
/// library's blocking calls do.
inline MPI_Status wait_for_message(int from, int tag) {
  MPI_Status status{};
  for (int is_there = 0; PMPI_Iprobe(from, tag, MPI_COMM_WORLD, &is_there, &status) == MPI_SUCCESS && is_there == 0;)
    sched_yield();
  return status;
}

}  // namespace antiphon::mpi
