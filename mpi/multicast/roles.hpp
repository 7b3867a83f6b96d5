// SPDX-License-Identifier: Apache-2.0
// Who of a group's ranks speaks for its node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace antiphon::mpi {

/// Who does what in a group. One rank a node, its leader, is in the transport's group; the others of the node, its
/// followers, give it what they send and have from it what comes.
struct MulticastRoles {
  std::vector<std::int32_t> members;    ///< ranks of the communicator, ascending
  std::vector<std::int32_t> leaders;    ///< one a node, ascending: the transport's members in order
  std::vector<std::int32_t> leader_of;  ///< by place in `members`: index into `leaders`
  std::vector<std::int32_t> followers;  ///< of this rank's node, but for the leader; kept by the leader only
  int leader = -1;                      ///< this rank's, as a rank
  bool leads = false;

  MulticastRoles(std::vector<std::int32_t> of_ranks, std::span<const int> node_of_rank, int rank);
  /// Index into `leaders` of the one on this member's node.
  [[nodiscard]] int leader_index(int member) const;
};

}  // namespace antiphon::mpi
