// SPDX-License-Identifier: Apache-2.0
// The multicast groups of a communicator (docs/concepts/multicast.md).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "multicast/group.hpp"

namespace antiphon::mpi {

/// A communicator's groups.
class MulticastGroups {
 public:
  /// `comm`: Antiphon's own, of the same ranks. `node_of_rank`: of the communicator's ranks.
  MulticastGroups(MPI_Comm comm, int rank, std::vector<int> node_of_rank);

  /// The group of these ranks, ascending; not opened by this.
  MulticastGroup& of(const std::vector<std::int32_t>& members);
  /// The static group: all ranks.
  MulticastGroup& everybody();
  /// Whether multicast works among all ranks of the communicator. Collective over it the first time.
  bool work() { return everybody().open(); }
  /// Closes the group of these ranks, which are all here, unless it is pinned or the communicator's own, everybody();
  /// the next use opens it again.
  void close(const std::vector<std::int32_t>& members);
  /// Closes all; collective over the communicator.
  void close();

 private:
  MPI_Comm comm_;
  int rank_;
  std::vector<int> node_of_rank_;
  std::vector<std::int32_t> all_;
  std::map<std::vector<std::int32_t>, std::unique_ptr<MulticastGroup>> groups_;
};

}  // namespace antiphon::mpi
