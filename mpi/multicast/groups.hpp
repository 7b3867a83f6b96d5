// SPDX-License-Identifier: Apache-2.0
// This file manages the multicast groups of a communicator (docs/concepts/multicast.md).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "multicast/group.hpp"

namespace antiphon::mpi {

/// Holds a communicator's groups.
class MulticastGroups {
 public:
  /// `comm` is Antiphon's own communicator of the same ranks; `node_of_rank` gives the node of each of its ranks.
  MulticastGroups(MPI_Comm comm, int rank, std::vector<int> node_of_rank);

  /// Returns the group of these ranks, which are in ascending order, without opening it.
  MulticastGroup& of(const std::vector<std::int32_t>& members);
  /// Returns the static group of all ranks.
  MulticastGroup& everybody();
  /// Tells whether multicast works among all ranks of the communicator. The first call is collective over it.
  bool work() { return everybody().works(); }
  /// Closes the group of these ranks, which all call this, unless it is pinned or is the communicator's own,
  /// everybody(). The next use opens it again.
  void close(const std::vector<std::int32_t>& members);
  /// Tells whether some rank may have been in a group; the same on all ranks.
  [[nodiscard]] bool used() const;
  /// Notes that the communicator is gone. Returns what is left of the groups.
  std::vector<std::shared_ptr<OpenGroup>> retire();

 private:
  MPI_Comm comm_;
  int rank_;
  std::vector<int> node_of_rank_;
  std::vector<std::int32_t> all_;
  std::map<std::vector<std::int32_t>, std::unique_ptr<MulticastGroup>> groups_;
};

}  // namespace antiphon::mpi
