// SPDX-License-Identifier: Apache-2.0
#include "multicast/out_stream.hpp"

#include <algorithm>

namespace antiphon::multicast {

std::uint32_t OutStream::post(std::span<const std::byte> bytes, const SendOptions& options) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  Message message{next_sequence_++, queued_, packets_of(size, payload_bytes_), bytes, {}, false, window_};
  if (options.copy && size <= copy_room_bytes_) {
    message.copy.assign(bytes.begin(), bytes.end());
    message.bytes = message.copy;
    message.copied = true;
    copy_room_bytes_ -= size;
  }
  if (options.concurrent > 1) message.window = std::max(2, window_ / options.concurrent);
  if (options.window_packets > 0) message.window = std::min(message.window, std::max(2, options.window_packets));
  uncopied_ += message.copied ? 0 : 1;
  queued_ += message.packets;
  messages_.push_back(std::move(message));  // moving a vector does not move its bytes
  return messages_.back().sequence;
}

const OutStream::Message& OutStream::at(Position position) const {
  const auto after = std::upper_bound(messages_.begin(), messages_.end(), position,
                                      [](Position wanted, const Message& message) { return wanted < message.first; });
  return *std::prev(after);
}

DataPacket OutStream::packet(const Message& message, Position position) const {
  const std::int64_t index = position - message.first;
  const auto offset = static_cast<std::size_t>(index * payload_bytes_);
  const std::size_t length = std::min(static_cast<std::size_t>(payload_bytes_), message.bytes.size() - offset);
  DataPacket result;
  result.data = {wrap(position), message.sequence, static_cast<std::uint32_t>(index), 0, message.bytes.size()};
  result.payload = message.bytes.subspan(offset, length);
  return result;
}

std::span<const DataPacket> OutStream::next(std::size_t most) {
  offered_.clear();
  if (!may_send()) return {};
  const Message* message = &at(sent_);
  for (Position position = sent_; position < queued_ && offered_.size() < most; ++position) {
    if (position == message->first + message->packets) message = &at(position);
    if (position - base_ >= message->window) break;
    DataPacket next = packet(*message, position);
    const bool last = position + 1 == message->first + message->packets;
    // The sender asks for an acknowledgement where it waits for one: for its buffer, or for room in the window. It asks
    // before the window is full, so that the wire does not run empty.
    const bool half = (position + 1) % std::max(1, message->window / 2) == 0;
    if ((last && !message->copied) || half || position + 1 - base_ == message->window)
      next.data.flags |= Data::ack_wanted;
    offered_.push_back(next);
  }
  return offered_;
}

DataPacket OutStream::again(Position position, int to) const {
  DataPacket result = packet(at(position), position);
  result.data.flags |= Data::again;
  result.to = to;
  return result;
}

void OutStream::acknowledged(Position position) {
  base_ = std::max(base_, std::min(position, sent_));
  while (!messages_.empty() && messages_.front().first + messages_.front().packets <= base_) {
    copy_room_bytes_ += static_cast<std::int64_t>(messages_.front().copy.size());
    uncopied_ -= messages_.front().copied ? 0 : 1;
    messages_.pop_front();
  }
}

bool OutStream::done(std::uint32_t sequence) const {
  if (messages_.empty()) return true;
  const std::uint32_t ahead = sequence - messages_.front().sequence;
  if (ahead >= messages_.size())
    return true;  // acknowledged long ago (a ticket of this group never belongs to a future message)
  const Message& message = messages_[ahead];
  return message.copied && message.first + message.packets <= sent_;
}

}  // namespace antiphon::multicast
