// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "antiphon/multicast.hpp"
#include "multicast/packet.hpp"
#include "multicast/position.hpp"

namespace antiphon::multicast {

/// What one other member sends, written straight into the posted buffers in any order. Packets below base() have come
/// or are not wanted; those below seen() are known to have been sent; those below posted() have receives.
class InStream {
 public:
  enum class Outcome : std::uint8_t {
    fresh,  ///< written, or held until its receive is posted
    duplicate,
    refused,   ///< too far ahead, or came before its receive and there is no room to hold it
    mismatch,  ///< the sender's message differs in size from the receive
    malformed,
  };
  struct Range {
    Position first = 0;
    std::int64_t packets = 0;
  };

  InStream(int payload_bytes, int window_packets, std::size_t most_held);

  /// Posts a receive and returns its sequence number. Throws InvalidArgument if the parts are not in order or not
  /// within the message.
  std::uint32_t post(std::int64_t message_bytes, std::span<const Part> parts);
  Outcome take(const Data& data, std::span<const std::byte> payload);
  void saw(Position upto) { seen_ = std::max(seen_, upto); }

  [[nodiscard]] Position base() const { return base_; }
  [[nodiscard]] Position seen() const { return seen_; }
  [[nodiscard]] Position posted() const { return posted_; }
  [[nodiscard]] bool waiting() const { return base_ < posted_; }
  /// Returns the packets of [from, upto) that are wanted, posted and missing, as at most `most_ranges` runs.
  [[nodiscard]] std::vector<Range> missing(Position from, Position upto, std::size_t most_ranges) const;

  [[nodiscard]] bool done(std::uint32_t sequence) const;
  [[nodiscard]] std::int64_t ready_bytes(std::uint32_t sequence) const;
  [[nodiscard]] std::size_t held() const { return held_.size(); }
  /// Tells whether a held message differed in size from the receive posted for it later.
  [[nodiscard]] bool mismatched() const { return mismatched_; }

 private:
  /// A run of a message's packets that are wanted.
  struct Wanted {
    std::int64_t begin, end;
  };
  struct Message {
    std::uint32_t sequence;
    Position first;
    std::int64_t packets, bytes, missing;
    std::vector<Part> parts;  ///< not empty, in order
    std::vector<Wanted> wanted;
  };
  struct Held {
    Data data;
    std::vector<std::byte> payload;
  };
  [[nodiscard]] std::size_t slot(Position position) const {
    return static_cast<std::size_t>(position) & (there_.size() - 1);
  }
  [[nodiscard]] const Message* find(Position position) const;
  [[nodiscard]] Position next_wanted(Position position) const;
  Outcome hold(Position position, const Data& data, std::span<const std::byte> payload);
  Outcome write(Message& message, Position position, const Data& data, std::span<const std::byte> payload);
  void advance();

  int payload_bytes_, window_;
  std::size_t most_held_;
  Position base_ = 0, seen_ = 0, posted_ = 0;
  std::uint32_t next_sequence_ = 0;
  bool mismatched_ = false;
  std::deque<Message> messages_;  ///< from the first that is not complete on
  std::vector<bool> there_;       ///< whether each packet has come; a ring over [base, base + window)
  std::unordered_map<Position, Held> held_;
};

}  // namespace antiphon::multicast
