// SPDX-License-Identifier: Apache-2.0
// What all ranks must know of all, found out by one exchange in MPI_Init.
#pragma once

#include <vector>

namespace antiphon::mpi {

struct Introduction {
  int first_different = 0;  ///< the lowest rank with other settings than rank 0; the number of ranks: none
  bool some_may_have_devices = false;
  bool some_have_threads = false;  ///< MPI_THREAD_MULTIPLE
  int cores = 0;                   ///< that the ranks may use, where all are on one node; 0: unknown
  std::vector<int> node_of_rank;   ///< as World::node_of_rank
};

/// Tells rank 0 of this rank, and returns what rank 0 makes of it. The call is collective over MPI_COMM_WORLD.
Introduction introduce(bool has_own_settings, bool may_have_devices, bool has_threads);

}  // namespace antiphon::mpi
