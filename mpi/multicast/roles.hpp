// SPDX-License-Identifier: Apache-2.0
// The roles say which of a group's ranks acts for its node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace antiphon::mpi {

/// Holds each rank's task in a group. One rank of each node, its leader, is in the transport's group. The node's other
/// ranks, its followers, give the leader what they send and get from it what arrives.
struct MulticastRoles {
  std::vector<std::int32_t> members;    ///< ranks of the communicator, ascending
  std::vector<std::int32_t> leaders;    ///< one for each node, ascending: the transport's members in order
  std::vector<std::int32_t> leader_of;  ///< by place in `members`: index into `leaders`
  std::vector<std::int32_t> followers;  ///< ranks of this rank's node except the leader; only the leader has them
  int leader = -1;                      ///< rank of this rank's leader
  bool leads = false;

  MulticastRoles(std::vector<std::int32_t> of_ranks, std::span<const int> node_of_rank, int rank);
  /// Returns the index into `leaders` of the leader on this member's node.
  [[nodiscard]] int leader_index(int member) const;
};

}  // namespace antiphon::mpi
