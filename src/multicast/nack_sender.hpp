// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "multicast/core.hpp"
#include "multicast/tree.hpp"

namespace antiphon::multicast {

/// The sender's side of the NACK strategy: repairs what members ask for, moves the window, and sends heartbeats.
class NackSender {
 public:
  /// `repair_time` is how long repairs to this member itself take.
  NackSender(Core& core, const RoundTrip& repair_time);

  /// Measures the round trip if `echo` answers the last heartbeat.
  void echo(std::uint32_t echo);
  /// Notes that `member` itself has all packets below `upto`.
  void member_ack(int member, std::uint32_t upto);
  /// Notes that the subtree of `child` has all packets below `upto`.
  void subtree_ack(int child, std::uint32_t upto);
  void nack(int from, const Nack& nack);
  /// Called when new packets have been sent.
  void sent() { attempts_ = 0; }
  /// Repeats the packets that are due. Returns true if it sent anything.
  bool send_again();
  /// Does what is due. Returns the latest time at which it must be called again.
  std::int64_t tick();

 private:
  static constexpr int to_everybody = -1;
  /// A packet to be repeated, and the member to send it to, or to_everybody.
  using Repair = std::pair<Position, int>;
  /// The last time that a packet was repeated.
  struct Repaired {
    Position position = -1;
    int to = to_everybody;
    bool went_to_all = false;
    std::int64_t at_ns = 0;
  };

  Repaired& repaired(Position position) { return repaired_[static_cast<std::size_t>(position) % repaired_.size()]; }
  void move_window();
  void ask_repair(Position position, int from);
  std::int64_t watch_receivers();
  void send_heartbeat();
  /// Tells whether `member` has not said that it has all that was sent.
  [[nodiscard]] bool is_behind(int member) const;
  /// Tells whether nothing has come from `member` since it was polled.
  [[nodiscard]] bool owes_answer(int member) const;
  void poll_directly();
  void lose_silent_members();
  [[nodiscard]] std::int64_t patience_ns() const;

  Core& core_;
  const RoundTrip& repair_time_;
  RoundTrip answer_time_;
  std::vector<Child> children_;
  std::vector<Position> own_;               ///< by member: how far it says it is itself
  std::map<Repair, std::int64_t> repairs_;  ///< and when each is due; a packet goes to everybody or to single members
  std::vector<Repaired> repaired_;
  std::uint32_t heartbeat_id_ = 0;
  std::int64_t heartbeat_ns_ = 0;
  bool echo_wanted_ = false;
  int attempts_ = 0;                     ///< heartbeats since a member last made progress
  std::vector<std::int64_t> polled_ns_;  ///< by member: when it was first polled since it was last heard; −1: never
  int next_polled_ = 0;                  ///< who is polled next of those that owe no answer
  Position watched_base_ = 0;
  std::int64_t watched_since_ns_ = 0;
  std::int64_t missed_ns_;  ///< when a member last asked for a packet
};

}  // namespace antiphon::multicast
