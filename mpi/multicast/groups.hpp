// SPDX-License-Identifier: Apache-2.0
// Multicast groups for schedules: who of a group's ranks speaks for its node, how the group is opened over MPI, and how
// many there may be. docs/concepts/multicast.md says why it is as it is.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "antiphon/multicast.hpp"

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

/// The ranks of a group as one of them sees it.
class MulticastGroup {
 public:
  /// `whole`: the communicator's own group, or null for that itself. Members of a smaller one that is made while the
  /// communicator's is open have been seen to hear each other.
  MulticastGroup(MPI_Comm comm, int rank, MulticastRoles roles, const MulticastGroup* whole);
  ~MulticastGroup();
  MulticastGroup(const MulticastGroup&) = delete;
  MulticastGroup& operator=(const MulticastGroup&) = delete;

  /// Makes the group if it is not there. Collective over the members; the answer, whether messages go through it, is
  /// the same on all.
  bool open();
  /// Waits until nobody needs anything more of anybody, and leaves. Collective over the members.
  void close();
  /// Leaves without asking anybody; for the end of the job, after a drain() on all ranks.
  void abandon();
  /// Goes on until all that this rank sent is with all.
  void drain();

  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] const MulticastRoles& roles() const { return roles_; }
  /// The transport's side of it; at leaders while it is open.
  [[nodiscard]] multicast::Group& transport() { return *transport_; }
  [[nodiscard]] bool has_transport() const { return transport_ != nullptr; }
  /// Why it could not be opened.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// Stays open until as many have let go of it: never makes room for others, nor ends with a call.
  void pin() { ++pins_; }
  void unpin() { --pins_; }
  [[nodiscard]] bool pinned() const { return pins_ > 0; }
  /// The same number on all members, different for all groups that are open on a rank.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::uint64_t last_used() const { return last_used_; }
  /// Members, as ranks of MPI_COMM_WORLD, ascending.
  [[nodiscard]] const std::vector<int>& world_members() const { return world_members_; }

 private:
  friend class MulticastOpening;

  MPI_Comm comm_;
  int rank_;
  MulticastRoles roles_;
  const MulticastGroup* whole_;
  bool open_ = false;
  bool refused_ = false;  ///< for good
  int pins_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t last_used_ = 0;
  std::string reason_;
  std::vector<int> world_members_;
  std::unique_ptr<multicast::Group> transport_;
};

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

/// What the process did with groups, for the summary.
struct MulticastCounts {
  std::int64_t opened = 0, refused = 0, evicted = 0;
  std::string refusal;  ///< the last reason
};
MulticastCounts multicast_counts();
/// Of all groups that are or were open on this rank.
multicast::Statistics multicast_statistics();

/// Before MPI_Finalize: what is under way comes to its end, then all groups that are still open are left. Collective
/// over MPI_COMM_WORLD.
void stop_multicast();

}  // namespace antiphon::mpi
