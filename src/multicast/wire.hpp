// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace antiphon::multicast {

/// A packet to be sent: three runs of bytes one after the other, so that payloads go out of the user's buffer without a
/// copy.
struct Outgoing {
  int to = -1;  ///< a member, or −1: all
  std::span<const std::byte> head, payload, tag;
  [[nodiscard]] std::size_t bytes() const { return head.size() + payload.size() + tag.size(); }
};

/// What carries packets between members, and the clock: sockets, or a network made up for a test. It may lose, double,
/// delay and reorder packets, and bring ones that no member has sent.
class Wire {
 public:
  virtual ~Wire() = default;
  [[nodiscard]] virtual std::int64_t now_ns() = 0;
  /// How many of them, from the front, are on their way or given up; the others must be offered again later.
  virtual std::size_t send(std::span<const Outgoing> packets) = 0;
  /// Packets that have come in; valid until the next call. Nothing: none has.
  virtual std::span<const std::span<const std::byte>> receive() = 0;
  /// Sleeps until there may be a packet, at most so long.
  virtual void wait(std::int64_t most_ns) = 0;
  /// Joins the group anew: what is sent to all does not come here.
  virtual void rejoin() {}
  /// Packets that were dropped on this host for want of room, as far as is known; calls to the system.
  [[nodiscard]] virtual std::uint64_t overflows() const { return 0; }
  [[nodiscard]] virtual std::uint64_t system_calls() const { return 0; }
};

}  // namespace antiphon::multicast
