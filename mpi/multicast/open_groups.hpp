// SPDX-License-Identifier: Apache-2.0
// This table lists all multicast groups that are open on this rank, of all communicators. It is thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "antiphon/multicast.hpp"

namespace antiphon::mpi {

/// Opening and closing wait at most this long for members that do not answer.
inline constexpr double multicast_patience_s = 8;

/// Declares what the table needs of a group.
class OpenGroup {
 public:
  virtual ~OpenGroup() = default;
  /// Waits until no member needs anything from another, and leaves. Collective over the members.
  virtual void close() = 0;
  /// Leaves without asking any member; used at the end of the job, after a drain() on all ranks.
  virtual void abandon() = 0;
  /// Advances until all members have everything that this rank has sent.
  virtual void drain() = 0;
  /// Tells whether the group must stay open.
  [[nodiscard]] virtual bool pinned() const = 0;
  /// Returns a number that is the same on all members and differs between all groups that are open on a rank.
  [[nodiscard]] virtual std::uint64_t number() const = 0;
  [[nodiscard]] virtual std::uint64_t last_used() const = 0;
  /// Returns the members as ranks of MPI_COMM_WORLD, in ascending order.
  [[nodiscard]] virtual const std::vector<int>& world_members() const = 0;
  /// Returns the statistics of the group's transport, or zeros if this rank has no transport.
  [[nodiscard]] virtual multicast::Statistics statistics() const = 0;
};

namespace multicast_table {
int open_count();
/// Returns the least recently used group that may be closed and has all its members among these, or null.
OpenGroup* oldest_within(const std::vector<int>& world_members);
OpenGroup* find(std::uint64_t number);
void opened(OpenGroup& group);
void left(OpenGroup& group);
/// Notes that a group could not be opened.
void refused(const std::string& reason);
/// Notes that a group was closed to make room for another one.
void evicted();
std::vector<OpenGroup*> all();
}  // namespace multicast_table

/// Counts what the process does with groups, for the summary.
struct MulticastCounts {
  std::int64_t opened = 0, refused = 0, evicted = 0;
  std::string refusal;  ///< the last reason
};
MulticastCounts multicast_counts();
/// Returns the statistics of all groups that are or were open on this rank.
multicast::Statistics multicast_statistics();

/// Completes what is under way, then leaves all groups that are still open; called before MPI_Finalize. Collective over
/// MPI_COMM_WORLD.
void stop_multicast();

}  // namespace antiphon::mpi
