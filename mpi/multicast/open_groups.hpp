// SPDX-License-Identifier: Apache-2.0
// This table lists all multicast groups that are open on this rank, of all communicators. It is thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "antiphon/multicast.hpp"

namespace antiphon::mpi {

/// Closing waits at most this long for members that do not answer.
inline constexpr double multicast_patience_s = 8;

/// Is one multicast group as all threads of this rank see it: shut, being opened, open, or being closed. While it is
/// not shut, it is in the table, also when its communicator is gone.
class OpenGroup : public std::enable_shared_from_this<OpenGroup> {
 public:
  /// `world_members` are ranks of MPI_COMM_WORLD, in ascending order. Only leaders have a transport.
  OpenGroup(std::vector<int> world_members, bool leads) : world_members_(std::move(world_members)), leads_(leads) {}
  OpenGroup(const OpenGroup&) = delete;
  OpenGroup& operator=(const OpenGroup&) = delete;

  /// Begins to open the group. Returns false if this rank already leads in as many groups as the budget says; may then
  /// be called again.
  bool take_place(int budget);
  /// Sets the number, which is the same on all members and differs between all groups that are open on a rank.
  void set_number(std::uint64_t number);
  /// Ends the opening; a run has begun.
  void opened(std::unique_ptr<multicast::Group> transport);
  /// Ends the opening of a group that stays shut.
  void not_opened(const std::string& reason);

  /// Begins a run, which keeps the group open until end_run(). Returns false if the group is shut. While members agree
  /// on closing the group, waits for the outcome.
  bool begin_run();
  void end_run();
  /// Keeps the group open until every pin is undone: it neither makes room for others nor ends with a call.
  void pin();
  void unpin();
  [[nodiscard]] bool pinned() const;
  /// Notes that no run will follow, because the communicator is gone.
  void retire();
  [[nodiscard]] bool is_retired() const;

  /// Keeps runs from beginning until close() or stay_open(), and returns how many have begun since the group was
  /// opened. Returns nothing if it must stay open. Members with the same number are between the same two runs.
  std::optional<std::uint64_t> begin_closing();
  void stay_open();
  /// Leaves the group without asking any member.
  void close();
  /// Advances until all members have everything that this rank has sent. The group must not be closed meanwhile.
  void drain();

  [[nodiscard]] bool is_open() const;
  /// Returns the transport's group, which leaders have during a run.
  [[nodiscard]] multicast::Group& transport() { return *transport_; }
  [[nodiscard]] const std::vector<int>& world_members() const { return world_members_; }

 private:
  friend struct OpenGroupTable;
  [[nodiscard]] bool may_close() const { return open_ && !closing_ && runs_under_way_ == 0 && pins_ == 0; }
  [[nodiscard]] bool is_within(const std::vector<int>& world_members) const;
  void leave_table();

  const std::vector<int> world_members_;
  const bool leads_;
  std::unique_ptr<multicast::Group> transport_;
  // The table's mutex protects what follows.
  bool open_ = false;
  bool closing_ = false;
  bool retired_ = false;
  int pins_ = 0;
  int runs_under_way_ = 0;
  std::uint64_t runs_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t last_used_ = 0;
};

namespace multicast_table {
/// Returns the number of the least recently used group that may be closed, frees a place on this rank, has all its
/// members among these, and is not one of `except`; 0 if there is none.
std::uint64_t oldest_within(const std::vector<int>& world_members, std::span<const std::uint64_t> except);
/// Returns the group of this number; null if it is shut here.
std::shared_ptr<OpenGroup> find(std::uint64_t number);
/// Notes that a group was closed to make room for another one.
void evicted();
std::vector<std::shared_ptr<OpenGroup>> all();
}  // namespace multicast_table

/// Counts what the process does with groups, for the summary.
struct MulticastCounts {
  std::int64_t opened = 0, refused = 0, evicted = 0;
  std::string refusal;  ///< the last reason
};
MulticastCounts multicast_counts();
/// Returns the statistics of all groups that are or were open on this rank.
multicast::Statistics multicast_statistics();

}  // namespace antiphon::mpi
