// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "antiphon/cluster.hpp"
#include "cost/messages.hpp"
#include "cost/symmetry.hpp"

namespace antiphon {

/// The processor costs of messages by the profile's curves, and the share that the measured latencies and gaps contain.
class Work {
 public:
  Work(const Cluster& cluster, const Symmetry& symmetry);

  /// Ranks take turns on shared cores, one after the other.
  [[nodiscard]] bool takes_turns() const { return takes_turns_; }
  /// A node's ranks have cores of their own, so that they hand messages to their port at the same time.
  [[nodiscard]] bool ranks_work_at_once() const { return cluster_.cores() == 0 && cluster_.ranks() > cluster_.nodes(); }

  [[nodiscard]] double send_s(const LinkClass& link, std::int64_t bytes) const;
  /// Returns the work of a multicast to ranks on `nodes` other nodes.
  [[nodiscard]] double multicast_send_s(const LinkClass& link, std::int64_t bytes, std::size_t nodes) const;
  [[nodiscard]] double receive_s(const LinkClass& link, std::int64_t bytes) const;
  /// Returns the work that the receiver of an arrived message does in its turn.
  [[nodiscard]] double take_in_s(const Message& message) const;
  /// Returns the time that the packets of a message that has left by `now` took of its sender's core, beyond the ranks'
  /// own work.
  [[nodiscard]] double packets_s(const Message& message, double now) const;

  /// Returns the time from when the last byte has left until the message arrives. Where ranks take turns, it does not
  /// contain what the receiver's turns and work add later.
  [[nodiscard]] double arrives_after_s(const LinkClass& link, std::int64_t bytes) const;
  /// Returns the gap of a message within a node.
  [[nodiscard]] double node_gap_s(const Message& message) const;
  /// The receiver copies the message in its own turn, from the sender's memory.
  [[nodiscard]] bool fetched(const Message& message) const {
    return takes_turns_ && message.way == Message::Way::node && message.rendezvous();
  }
  /// Returns whether the library gives the core away between taking in what came over this link and reporting it. Open
  /// MPI does so with TCP (opal_progress) when a program asks repeatedly, as schedules do.
  [[nodiscard]] bool told_next_turn(const LinkClass& link) const {
    return link.told_next_turn.value_or(receive_pauses(link));
  }

 private:
  [[nodiscard]] bool receive_pauses(const LinkClass& link) const;
  [[nodiscard]] bool crowded(const LinkClass& link) const {
    return cluster_.cores() > 0 && !link.crowded.points().empty();
  }
  [[nodiscard]] double crowded_multicast_s() const {
    return cluster_.cores() > 0 ? cluster_.profile().multicast.crowded_s : 0;
  }
  [[nodiscard]] double packet_s(const Message& message) const;

  const Cluster& cluster_;
  bool takes_turns_;
  double measured_wait_s_;  ///< in the measured latency: until a receiver that shared its core had its turn
  double wait_s_;           ///< the same on this cluster, where one rank stands for many
};

}  // namespace antiphon
