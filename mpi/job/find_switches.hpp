// SPDX-License-Identifier: Apache-2.0
// Finds which switches the job's nodes are on.
#pragma once

#include <string>
#include <vector>

#include "job/settings.hpp"
#include "job/switches.hpp"

namespace antiphon::mpi {

/// Takes them from ANTIPHON_TOPOLOGY, the profile or Slurm, whichever comes first; unknown where none says it of all
/// nodes. `node_of_rank` as World::node_of_rank; `assumed_name` is this rank's node by ANTIPHON_NODES, or empty.
/// Collective over MPI_COMM_WORLD.
Switches find_switches(const Settings& settings, const std::vector<int>& node_of_rank, const std::string& assumed_name);

}  // namespace antiphon::mpi
