// SPDX-License-Identifier: Apache-2.0
// Measures what several connections to one node carry together, in MPI_Init, where one may have a part of its port.
#pragma once

#include <vector>

namespace antiphon::mpi {

/// Returns the ranks that send to the first of these leaders of nodes; none where two nodes would be too few.
std::vector<int> senders_to_port(const std::vector<int>& leaders);

/// Returns the payload rate of this rank's port; 0 where several connections bring hardly more than the one whose rate
/// is given. Each sender meanwhile is in send_trains(), from which this lets it go.
double measure_port(double connection_bytes_per_s, const std::vector<int>& senders);

}  // namespace antiphon::mpi
