// SPDX-License-Identifier: Apache-2.0
// The rate of the nodes' links: told, by a profile, measured by an earlier run, by the system, or measured now.
#pragma once

#include <vector>

#include "job/settings.hpp"
#include "network/agree.hpp"

namespace antiphon::mpi {

/// Puts the rate and its source into `network`, which says what the system knows. `node_of_rank` is empty for nodes
/// that are only assumed. The call is collective over MPI_COMM_WORLD.
void settle_link_rate(network::Network& network, const Settings& settings, const std::vector<int>& node_of_rank);

}  // namespace antiphon::mpi
