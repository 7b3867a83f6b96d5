// SPDX-License-Identifier: Apache-2.0
// One direction of a cable: a port's buffer, its link's rate, and the time that the link takes.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>

#include "cables/packet.hpp"

namespace antiphon::cables {

/// The buffer that all ports of a switch share. A port may hold as much as is still free (the dynamic threshold of
/// Choudhury and Hahne, 1998, with factor 1), so one port gets half of it, and two get a third each.
struct Pool {
  std::int64_t size_bytes;
  std::int64_t used_bytes = 0;

  [[nodiscard]] std::int64_t free_bytes() const { return size_bytes - used_bytes; }
};

/// What a direction does to its packets.
struct Terms {
  std::int64_t bits_per_s = 0;    ///< 0: the sender's own interface has a rate already
  std::int64_t burst_bytes = 0;   ///< may be sent at once
  std::int64_t buffer_bytes = 0;  ///< of the port, where no pool is given
  std::int64_t mark_bytes = 0;    ///< packets that find so much in the buffer are marked; 0: none are
  std::int64_t latency_ns = 0;
};

/// What has happened in a direction.
struct Counts {
  std::int64_t sent = 0, dropped = 0, marked = 0, longest_bytes = 0;
};

class Queue {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  /// `pool` may be null. It must outlive the queue.
  Queue(const Terms& terms, Pool* pool) : terms_(terms), pool_(pool), tokens_(terms.burst_bytes) {}

  /// Takes a packet, or drops it where the buffer is full. Times are those of one clock and never go back.
  void arrive(Packet packet, std::int64_t now_ns);
  /// Returns the next packet that has reached the other end, if any.
  std::optional<Packet> leave(std::int64_t now_ns);
  /// Returns when leave() has something next.
  [[nodiscard]] std::int64_t due_ns() const;
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Waiting {
    Packet packet;
    std::int64_t bytes;
    std::int64_t arrived_ns;
  };
  struct Travelling {
    Packet packet;
    std::int64_t arrives_ns;
  };

  [[nodiscard]] std::int64_t room_bytes() const;
  void send(std::int64_t now_ns);
  [[nodiscard]] std::int64_t send_ns() const;
  void hold(std::int64_t bytes);

  Terms terms_;
  Pool* pool_;
  std::int64_t held_bytes_ = 0;
  double tokens_;  ///< bytes that may be sent
  std::int64_t tokens_at_ns_ = 0;
  std::deque<Waiting> waiting_;
  std::deque<Travelling> travelling_;
  Counts counts_;
};

}  // namespace antiphon::cables
