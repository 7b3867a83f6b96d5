// SPDX-License-Identifier: Apache-2.0
// The multicasts of one schedule on the transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "antiphon/multicast.hpp"
#include "antiphon/progress.hpp"
#include "antiphon/schedule.hpp"
#include "multicast/groups.hpp"

namespace antiphon::mpi {

/// What this rank does for a multicast operation of its schedule.
enum class MulticastPart : std::uint8_t {
  fan_out,  ///< there is no group: point-to-point messages from the sender to each
  send,     ///< speaks for its node: to the group and to its followers
  relay,    ///< the same with what a follower sends
  receive,  ///< from the group, and on to its followers
  hand_in,  ///< a follower's own: to its leader
  take,     ///< a follower: from its leader
};

/// Puts messages to and from the group into the order that the transport counts on: a leader's messages match by their
/// number, so they are posted in the order of the schedule's operations, which is the same on all members, whenever
/// they are ready.
class MulticastLanes {
 public:
  /// `senders`: so many send at the same time.
  MulticastLanes(const Schedule& schedule, int rank, MulticastGroups& groups, int senders);

  /// Before each run: opens what is to be opened. Collective over the members of the schedule's groups.
  void begin();
  [[nodiscard]] MulticastPart part(OpId op) const { return parts_[op]; }
  [[nodiscard]] const MulticastRoles& roles(OpId op) const { return group_of(op).roles(); }
  /// The most messages besides the schedule's own that one piece makes: to or from followers.
  [[nodiscard]] std::size_t most_messages() const { return most_messages_; }

  /// The piece may go to or come from the group; `at` is its memory.
  void ready(const Progress::Piece& piece, std::span<std::byte> at);
  [[nodiscard]] bool busy() const { return posted_ + waiting_ > 0; }
  /// Goes on. True: something came to its end, take it with next(). With patience: may sleep so long.
  bool poll(std::int64_t patience_ns);
  bool next(Progress::Piece& piece);
  /// Why a group of the schedule could not be opened; null where all are open.
  [[nodiscard]] const std::string* why_not() const;
  /// A member that answers nothing for so long is lost.
  [[nodiscard]] std::int64_t lost_after_ns() const;
  /// What has gone wrong for good, or empty.
  [[nodiscard]] std::string failure() const;

 private:
  struct Posted {
    Progress::Piece piece;
    multicast::Ticket ticket;
  };
  /// Of one operation: which of its pieces are ready, from the first that is not posted on.
  struct Waiting {
    std::int64_t next_piece = 0;
    std::uint64_t ready = 0;
    std::vector<std::span<std::byte>> at;  ///< by piece modulo the largest window
  };
  /// All messages of one leader, in order.
  struct Lane {
    MulticastGroup* group = nullptr;
    int sender = 0;  ///< in the transport
    bool own = false;
    std::vector<OpId> ops;
    std::size_t at = 0;
    std::vector<Posted> posted;  ///< a ring
    std::size_t first = 0, count = 0;
    std::uint64_t seen = 0;  ///< the transport's changes(), when it was last looked at
  };

  [[nodiscard]] MulticastGroup& group_of(OpId op) const {
    return *groups_[static_cast<std::size_t>(schedule_.ops()[op].group)];
  }
  MulticastPart part_of(const Op& op) const;
  void add_to_lane(OpId id);
  void find_wanted(OpId id);
  void flush(Lane& lane);
  multicast::Ticket post(Lane& lane, const Progress::Piece& piece, std::span<std::byte> at);
  bool collect(Lane& lane);

  const Schedule& schedule_;
  int rank_;
  int senders_;
  std::vector<MulticastGroup*> groups_;     ///< by the schedule's groups
  std::vector<MulticastPart> parts_;        ///< by operation
  std::vector<int> lane_of_;                ///< by operation; −1: none
  std::vector<Waiting> states_;             ///< by operation
  std::vector<std::vector<Range>> wanted_;  ///< by operation: what of it is ever read, where that is not all
  std::vector<Lane> lanes_;
  std::vector<multicast::Part> parts_wanted_;  ///< room
  std::vector<Progress::Piece> ended_;
  std::size_t next_ended_ = 0;
  std::size_t posted_ = 0, waiting_ = 0;
  std::size_t most_messages_ = 0;
};

}  // namespace antiphon::mpi
