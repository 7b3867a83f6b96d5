// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace antiphon::multicast {

/// A packet to be sent. It consists of three runs of bytes, so that a payload goes out of the user's buffer uncopied.
struct Datagram {
  int to = -1;  ///< a member; −1 means all
  std::span<const std::byte> head, payload, tag;
  [[nodiscard]] std::size_t bytes() const { return head.size() + payload.size() + tag.size(); }
};

/// Carries packets between members and has the clock: sockets, or a simulated network in tests. It may lose, double,
/// delay and reorder packets, and bring packets that no member has sent.
class Wire {
 public:
  virtual ~Wire() = default;
  [[nodiscard]] virtual std::int64_t now_ns() = 0;
  /// Returns how many packets, from the front, are sent or given up. The caller must offer the others again later.
  virtual std::size_t send(std::span<const Datagram> packets) = 0;
  /// Returns the packets that have come in, possibly none. They are valid until the next call.
  virtual std::span<const std::span<const std::byte>> receive() = 0;
  /// Sleeps until there may be a packet, at most `most_ns`.
  virtual void wait(std::int64_t most_ns) = 0;
  /// Joins the group again, because packets sent to all do not arrive.
  virtual void rejoin() {}
  /// Packets that this host dropped for lack of room, as far as is known. The next one counts system calls.
  [[nodiscard]] virtual std::uint64_t overflows() const { return 0; }
  [[nodiscard]] virtual std::uint64_t system_calls() const { return 0; }
};

}  // namespace antiphon::multicast
