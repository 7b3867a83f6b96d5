// SPDX-License-Identifier: Apache-2.0
// All multicast groups that are open on this rank, of all communicators. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "antiphon/multicast.hpp"

namespace antiphon::mpi {

/// The most that is waited for members that do not answer, at opening and closing.
inline constexpr double multicast_patience_s = 8;

/// What the table needs of a group.
class OpenGroup {
 public:
  virtual ~OpenGroup() = default;
  /// Waits until nobody needs anything more of anybody, and leaves. Collective over the members.
  virtual void close() = 0;
  /// Leaves without asking anybody; for the end of the job, after a drain() on all ranks.
  virtual void abandon() = 0;
  /// Goes on until all that this rank sent is with all.
  virtual void drain() = 0;
  /// Whether it must stay open.
  [[nodiscard]] virtual bool pinned() const = 0;
  /// The same number on all members, different for all groups that are open on a rank.
  [[nodiscard]] virtual std::uint64_t number() const = 0;
  [[nodiscard]] virtual std::uint64_t last_used() const = 0;
  /// Members, as ranks of MPI_COMM_WORLD, ascending.
  [[nodiscard]] virtual const std::vector<int>& world_members() const = 0;
  /// Of its transport; zeros where this rank has none.
  [[nodiscard]] virtual multicast::Statistics statistics() const = 0;
};

namespace multicast_table {
int open_count();
/// The one whose last use is longest ago, of those whose members are all among these and that may be closed. Or null.
OpenGroup* oldest_within(const std::vector<int>& world_members);
OpenGroup* find(std::uint64_t number);
void opened(OpenGroup& group);
void left(OpenGroup& group);
/// A group could not be opened.
void refused(const std::string& reason);
/// A group was closed to make room for another one.
void evicted();
std::vector<OpenGroup*> all();
}  // namespace multicast_table

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
