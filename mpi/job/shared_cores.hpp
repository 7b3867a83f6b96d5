// SPDX-License-Identifier: Apache-2.0
// How ranks wait where they share cores. MPICH's collectives in shared memory look for messages without giving the core
// away, and so does all of Open MPI where it has not seen that cores are shared: containers on one machine, ranks that
// may use some cores only. A rank that could go on then waits until the others have used up their time.
#pragma once

#include <optional>
#include <string>

#include "antiphon/fact.hpp"

namespace antiphon::mpi {

/// Ranks that use the same cores: those of a node, or of all nodes on one machine.
struct Crowd {
  int ranks = 0;
  int cores = 0;          ///< 0: unknown
  int ranks_of_node = 0;  ///< of those that share memory, where there are most

  [[nodiscard]] double ranks_on_core() const { return cores > 0 ? static_cast<double>(ranks) / cores : 0; }
};

/// Lets waiting ranks give their core away after some looks in vain, within MPI_Init, unless the user has set a
/// parameter of this kind, or this is switched off by the variable of that name. Returns what was done, or why not.
/// Nothing: there are cores enough, or the library does so by itself.
std::optional<Fact> share_cores(const Crowd& crowd, const std::string& switched_off_by);

}  // namespace antiphon::mpi
