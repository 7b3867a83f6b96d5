// SPDX-License-Identifier: Apache-2.0
// Measures what several connections to one node carry together, in MPI_Init, where one may have a part of its port.
#pragma once

#include <vector>

namespace antiphon::mpi {

/// Returns the ranks that send to rank 0, none of its own node: one of each node first, then a second of each, as long
/// as more are wanted. None where there are fewer than three nodes. `node_of_rank`: each node is named by its first
/// rank.
std::vector<int> senders_to_port(const std::vector<int>& node_of_rank);

/// Payload rates of a port, and of one connection through it.
struct PortRates {
  double port_bytes_per_s = 0, connection_bytes_per_s = 0;
};

/// Returns the rates of this rank's port; zeros where several connections bring hardly more than the one whose rate is
/// given. Each sender meanwhile is in send_trains(), from which this lets it go.
PortRates measure_port(double connection_bytes_per_s, const std::vector<int>& senders);

}  // namespace antiphon::mpi
