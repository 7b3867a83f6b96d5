// SPDX-License-Identifier: Apache-2.0
// This file runs the multicasts of one schedule on the transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "antiphon/multicast.hpp"
#include "antiphon/progress.hpp"
#include "antiphon/schedule.hpp"
#include "multicast/groups.hpp"

namespace antiphon::mpi {

/// Names what this rank does for a multicast operation of its schedule.
enum class MulticastPart : std::uint8_t {
  fan_out,  ///< no group: point-to-point messages from the sender to each receiver
  send,     ///< a leader: sends to the group and to its followers
  relay,    ///< a leader: does the same with data from a follower
  receive,  ///< a leader: receives from the group and passes on to its followers
  hand_in,  ///< a follower: sends its own data to its leader
  take,     ///< a follower: receives from its leader
};

/// Puts messages to and from the group into the order that the transport counts on. A leader's messages match by their
/// number. So they are posted in the order of the schedule's operations, which is the same on all members, and not in
/// the order in which they become ready.
class MulticastLanes {
 public:
  /// `senders` ranks send at the same time.
  MulticastLanes(const Schedule& schedule, int rank, MulticastGroups& groups, int senders);

  /// Begins a run of each group, and opens those that are not open. Collective over the members of the schedule's
  /// groups.
  void begin();
  /// Ends these runs: other communicators may close the groups.
  void end();
  [[nodiscard]] MulticastPart part(OpId op) const { return parts_[op]; }
  [[nodiscard]] const MulticastRoles& roles(OpId op) const { return group_of(op).roles(); }
  /// Returns the most messages to or from followers that one piece makes besides the schedule's own.
  [[nodiscard]] std::size_t most_messages() const { return most_messages_; }

  /// Says that the piece may go to or come from the group; `at` is its memory.
  void ready(const Progress::Piece& piece, std::span<std::byte> at);
  [[nodiscard]] bool busy() const { return posted_ + waiting_ > 0; }
  /// Advances the messages. True means that something is complete: take it with next(). May sleep up to `patience_ns`.
  bool poll(std::int64_t patience_ns);
  bool next(Progress::Piece& piece);
  /// Returns why a group of the schedule could not be opened for the last run; null if all were open.
  [[nodiscard]] const std::string* why_not() const;
  /// A member that does not answer for this long is lost.
  [[nodiscard]] std::int64_t lost_after_ns() const;
  /// Returns what has failed permanently, or an empty text.
  [[nodiscard]] std::string failure() const;

 private:
  /// A piece of encoded data is two messages, since only its sender knows how long its frame is: that length, and the
  /// frame.
  struct Posted {
    Progress::Piece piece;
    multicast::Ticket ticket;
    std::optional<multicast::Ticket> length;  ///< of a frame that is sent
  };
  /// Holds, for one operation, which of its pieces are ready; the first bit is the first piece that is not posted.
  struct Waiting {
    std::int64_t next_piece = 0;
    std::uint64_t ready = 0;
    std::vector<std::span<std::byte>> at;  ///< by piece modulo the largest window
  };
  /// Holds all messages of one leader, in order.
  struct Lane {
    MulticastGroup* group = nullptr;
    int sender = 0;  ///< index in the transport
    bool own = false;
    std::vector<OpId> ops;
    std::size_t at = 0;
    std::vector<Posted> posted;  ///< a ring
    std::size_t first = 0, count = 0;
    std::optional<multicast::Ticket> length;  ///< is awaited of the next piece; nothing behind it can be posted
    std::uint64_t seen = 0;                   ///< the transport's changes() at the last look
  };

  [[nodiscard]] MulticastGroup& group_of(OpId op) const {
    return *groups_[static_cast<std::size_t>(schedule_.ops()[op].group)];
  }
  MulticastPart part_of(const Op& op) const;
  void add_to_lane(OpId id);
  void find_wanted(OpId id);
  void flush(Lane& lane);
  bool knows_length(Lane& lane, std::span<std::byte> at);
  Posted post(Lane& lane, const Progress::Piece& piece, std::span<std::byte> at);
  Posted send(Lane& lane, const Progress::Piece& piece, std::span<std::byte> at);
  [[nodiscard]] static bool waits(const Lane& lane) { return lane.count > 0 || lane.length.has_value(); }
  bool collect(Lane& lane);

  const Schedule& schedule_;
  int rank_;
  int senders_;
  std::vector<MulticastGroup*> groups_;  ///< by the schedule's groups
  std::vector<bool> open_;               ///< by the schedule's groups, in this run or the last one
  bool running_ = false;
  std::vector<MulticastPart> parts_;        ///< by operation
  std::vector<int> lane_of_;                ///< by operation; −1: none
  std::vector<Waiting> states_;             ///< by operation
  std::vector<std::vector<Range>> wanted_;  ///< by operation: the parts that are ever read, if not all
  std::vector<Lane> lanes_;
  std::vector<multicast::Part> parts_wanted_;  ///< reused room
  std::vector<Progress::Piece> ended_;
  std::size_t next_ended_ = 0;
  std::size_t posted_ = 0, waiting_ = 0;
  std::size_t lengths_ = 0;  ///< awaited
  std::size_t most_messages_ = 0;
  std::string broken_;  ///< what is wrong with a length that has come; empty: nothing
};

}  // namespace antiphon::mpi
