// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "antiphon/profile.hpp"
#include "antiphon/progress.hpp"
#include "schedule/matching.hpp"

namespace antiphon {

struct Connection;

using MessageId = std::uint32_t;
constexpr MessageId no_message = UINT32_MAX;

/// A message, or one piece of a message that is sent in pieces; of a multicast, the part for one receiver.
struct Message {
  enum class Way : std::uint8_t {
    network,    ///< from another node
    node,       ///< from a rank of the receiver's own node
    packet,     ///< as a multicast's packet from the network: the first receiver of each node gets it this way
    passed_on,  ///< a multicast's data, from a rank of the receiver's own node
  };
  enum class Protocol : std::uint8_t {
    eager,       ///< leaves as soon as it is sent
    rendezvous,  ///< is announced, and leaves when its receive is posted
  };
  enum class Stage : std::uint8_t {
    expected,   ///< the receive is posted, the send is not
    announced,  ///< the send of a rendezvous is posted, the receive is not
    leaving,    ///< from the moment when it may leave until it is at its receiver's node
    arrived,    ///< at its receiver's node
  };

  int from = 0;  ///< the rank that stands for the sender
  int to = 0;    ///< the rank that stands for the receiver
  std::int64_t bytes = 0;
  const LinkClass* link = nullptr;
  Connection* connection = nullptr;  ///< none for multicasts
  Progress::Piece send, recv;
  double sent_s = -1;      ///< the sender began
  double posted_s = -1;    ///< the receiver was ready; negative: it is not yet
  double begin_s = 0;      ///< the first byte is on the wire
  double arrived_s = -1;   ///< the last byte is at the receiver's node
  double given_bytes = 0;  ///< to its connection, up to this message's end
  Way way = Way::network;
  Protocol protocol = Protocol::eager;
  Stage stage = Stage::expected;

  [[nodiscard]] bool posted() const { return posted_s >= 0; }
  [[nodiscard]] bool multicast() const { return way == Way::packet || way == Way::passed_on; }
  [[nodiscard]] bool rendezvous() const { return protocol == Protocol::rendezvous; }
};

/// All messages that are posted on at least one side and not received yet.
class Messages {
 public:
  struct Posted {
    MessageId id = no_message;
    bool matched = false;  ///< the other side was posted before
  };
  /// One side of a message on this channel.
  Posted post(const Channel& channel, Side side) {
    MessageId id = no_message;
    const auto waiting = matching_.match(channel, side, [&] { return id = make(); });
    return {waiting.value_or(id), waiting.has_value()};
  }
  /// The message is received, so its number may be given to another message.
  void release(MessageId id) { free_.push_back(id); }

  [[nodiscard]] Message& operator[](MessageId id) { return messages_[id]; }
  [[nodiscard]] const Message& operator[](MessageId id) const { return messages_[id]; }

 private:
  MessageId make() {
    if (free_.empty()) {
      messages_.emplace_back();
      return static_cast<MessageId>(messages_.size() - 1);
    }
    const MessageId id = free_.back();
    free_.pop_back();
    messages_[id] = {};
    return id;
  }

  std::vector<Message> messages_;
  std::vector<MessageId> free_;
  Matching<MessageId> matching_;
};

}  // namespace antiphon
