// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "antiphon/multicast.hpp"
#include "multicast/courier.hpp"
#include "multicast/position.hpp"

namespace antiphon::multicast {

/// What this member sends: its messages one after the other, cut into packets that are numbered through. Packets below
/// base() are acknowledged by all, those below sent() have been sent once, those below queued() are to be sent.
class OutStream {
 public:
  OutStream(int payload_bytes, int window_packets, std::int64_t copy_bytes)
      : payload_bytes_(payload_bytes), window_(window_packets), copy_room_bytes_(copy_bytes) {}

  /// Queues a message; its sequence number.
  std::uint32_t post(std::span<const std::byte> bytes, const SendOptions& options);

  /// The next new packets that the window lets go, at most `most`. The wire may take fewer: commit() says how many it
  /// took.
  [[nodiscard]] std::span<const DataPacket> next(std::size_t most);
  void commit(std::size_t packets) { sent_ += static_cast<std::int64_t>(packets); }
  /// A packet of [base(), sent()) again.
  [[nodiscard]] DataPacket again(Position position, int to) const;
  /// All members have all below `position`.
  void acknowledged(Position position);

  [[nodiscard]] Position base() const { return base_; }
  [[nodiscard]] Position sent() const { return sent_; }
  [[nodiscard]] Position queued() const { return queued_; }
  /// Something is to be sent, and the window lets it go.
  [[nodiscard]] bool may_send() const { return sent_ < queued_ && sent_ - base_ < window_now(); }
  [[nodiscard]] bool done(std::uint32_t sequence) const;
  /// Somebody waits for acknowledgements: for the end of a message that was not copied, or for room in the window.
  [[nodiscard]] bool awaited() const { return uncopied_ > 0 || sent_ < queued_; }
  /// The most packets that may ever be under way.
  [[nodiscard]] int window() const { return window_; }

 private:
  struct Message {
    std::uint32_t sequence;
    Position first;
    std::int64_t packets;
    std::span<const std::byte> bytes;
    std::vector<std::byte> copy;
    bool copied;
    int window;
  };
  [[nodiscard]] const Message& at(Position position) const;
  [[nodiscard]] DataPacket packet(const Message& message, Position position) const;
  [[nodiscard]] int window_now() const { return sent_ < queued_ ? at(sent_).window : window_; }

  int payload_bytes_, window_;
  std::int64_t copy_room_bytes_;
  std::int64_t uncopied_ = 0;
  std::uint32_t next_sequence_ = 0;
  Position base_ = 0, sent_ = 0, queued_ = 0;
  std::deque<Message> messages_;  ///< those not acknowledged by all
  std::vector<DataPacket> offered_;
};

}  // namespace antiphon::multicast
