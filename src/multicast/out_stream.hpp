// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "antiphon/multicast.hpp"
#include "multicast/courier.hpp"
#include "multicast/position.hpp"

namespace antiphon::multicast {

/// What this member sends: its messages in order, cut into packets with consecutive numbers. Packets below base() are
/// acknowledged by all, those below sent() were sent once, and those below queued() are to be sent.
class OutStream {
 public:
  OutStream(int payload_bytes, int window_packets, std::int64_t copy_bytes)
      : payload_bytes_(payload_bytes), window_(window_packets), copy_room_bytes_(copy_bytes) {}

  /// Queues a message and returns its sequence number.
  std::uint32_t post(std::span<const std::byte> bytes, const SendOptions& options);

  /// Returns the next new packets that the window allows, at most `most`. The wire may take fewer; commit() tells how
  /// many it took.
  [[nodiscard]] std::span<const DataPacket> next(std::size_t most);
  void commit(std::size_t packets) { sent_ += static_cast<std::int64_t>(packets); }
  /// Returns a packet of [base(), sent()) to be repeated.
  [[nodiscard]] DataPacket again(Position position, int to) const;
  /// Notes that all members have every packet below `position`.
  void acknowledged(Position position);

  [[nodiscard]] Position base() const { return base_; }
  [[nodiscard]] Position sent() const { return sent_; }
  [[nodiscard]] Position queued() const { return queued_; }
  /// Tells whether something is to be sent and the window allows it.
  [[nodiscard]] bool may_send() const { return sent_ < queued_ && sent_ - base_ < window_now(); }
  [[nodiscard]] bool done(std::uint32_t sequence) const;
  /// Tells whether someone waits for acknowledgements: for the end of an uncopied message, or for room in the window.
  [[nodiscard]] bool awaited() const { return uncopied_ > 0 || sent_ < queued_; }
  /// The most packets that may ever be in transit.
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
  std::deque<Message> messages_;  ///< those that some member has not acknowledged
  std::vector<DataPacket> offered_;
};

}  // namespace antiphon::multicast
