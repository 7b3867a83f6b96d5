// SPDX-License-Identifier: Apache-2.0
// Measures the rate of the nodes' links by messages between a few pairs of nodes, in MPI_Init.
#pragma once

#include <cstdint>
#include <vector>

namespace antiphon::mpi {

struct MeasuredLink {
  std::int64_t bits_per_s = 0;             ///< 0: what was seen makes no sense
  std::int64_t connection_bits_per_s = 0;  ///< of one connection, if several together carried clearly more; else 0
  double payload_bytes_per_s = 0;          ///< of one connection; known to those that received
  int pairs = 0;                           ///< of nodes, that measured at the same time
  int rounds = 0;
  std::int64_t received_bytes = 0, messages = 0;  ///< of the first pair
  double seconds = 0;                             ///< that it took there
};

/// Returns the same rate on all ranks. At least two nodes are needed, each named by its first rank; machines with
/// several nodes each can stand for them. The call is collective over MPI_COMM_WORLD.
MeasuredLink measure_link(const std::vector<int>& node_of_rank);

}  // namespace antiphon::mpi
