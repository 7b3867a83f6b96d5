// SPDX-License-Identifier: Apache-2.0
#include "multicast/in_stream.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace antiphon::multicast {

InStream::InStream(int payload_bytes, int window_packets, std::size_t most_held)
    : payload_bytes_(payload_bytes), window_(window_packets), most_held_(most_held),
      there_(std::bit_ceil(static_cast<std::size_t>(window_packets))) {}

std::uint32_t InStream::post(std::int64_t message_bytes, std::span<const Part> parts) {
  Message message{next_sequence_, posted_, packets_of(message_bytes, payload_bytes_), message_bytes, 0, {}, {}};
  std::int64_t end = 0;
  for (const Part& part : parts) {
    const auto size = static_cast<std::int64_t>(part.buffer.size());
    if (part.offset_bytes < end || part.offset_bytes + size > message_bytes)
      throw InvalidArgument("multicast receive: parts out of order, or past the message's end");
    end = part.offset_bytes + size;
    if (size == 0 && message_bytes != 0) continue;
    message.parts.push_back(part);
    const std::int64_t begin = part.offset_bytes / payload_bytes_;
    const std::int64_t after = size == 0 ? 1 : (end - 1) / payload_bytes_ + 1;
    if (!message.wanted.empty() && message.wanted.back().end >= begin) {
      message.wanted.back().end = after;
    } else {
      message.wanted.push_back({begin, after});
    }
  }
  for (const Wanted& run : message.wanted) message.missing += run.end - run.begin;
  ++next_sequence_;
  posted_ += message.packets;
  messages_.push_back(std::move(message));
  advance();
  for (auto it = held_.begin(); it != held_.end();) {
    if (it->first >= posted_) {
      ++it;
      continue;
    }
    const Held held = std::move(it->second);
    it = held_.erase(it);
    const Outcome outcome = take(held.data, held.payload);
    mismatched_ = mismatched_ || outcome == Outcome::mismatch || outcome == Outcome::malformed;
  }
  return next_sequence_ - 1;
}

const InStream::Message* InStream::find(Position position) const {
  if (messages_.empty() || position < messages_.front().first || position >= posted_) return nullptr;
  const auto after = std::upper_bound(messages_.begin(), messages_.end(), position,
                                      [](Position wanted, const Message& message) { return wanted < message.first; });
  return &*std::prev(after);
}

Position InStream::next_wanted(Position position) const {
  const Message* message = find(position);
  if (message == nullptr) return std::max(position, posted_);
  for (auto it = messages_.begin() + (static_cast<std::int64_t>(message->sequence - messages_.front().sequence));
       it != messages_.end(); ++it) {
    for (const Wanted& run : it->wanted) {
      if (position < it->first + run.end) return std::max(position, it->first + run.begin);
    }
  }
  return posted_;
}

void InStream::advance() {
  for (;;) {
    base_ = next_wanted(base_);
    if (base_ >= posted_ || !there_[slot(base_)]) break;
    there_[slot(base_)] = false;
    ++base_;
  }
  while (!messages_.empty() && messages_.front().missing == 0 &&
         messages_.front().first + messages_.front().packets <= base_)
    messages_.pop_front();
}

InStream::Outcome InStream::take(const Data& data, std::span<const std::byte> payload) {
  const Position position = unwrap(data.position, base_);
  if (position < base_) return Outcome::duplicate;
  // A sender cannot send beyond the window that follows what the slowest member has. base_ may be ahead of that where
  // parts are not wanted.
  if (position >= base_ + window_) return Outcome::refused;
  seen_ = std::max(seen_, position + 1);
  if (position >= posted_) return hold(position, data, payload);
  if (there_[slot(position)]) return Outcome::duplicate;
  Message& message = messages_[find(position)->sequence - messages_.front().sequence];
  const Outcome outcome = write(message, position, data, payload);
  if (outcome == Outcome::fresh && position == base_) advance();
  return outcome;
}

InStream::Outcome InStream::hold(Position position, const Data& data, std::span<const std::byte> payload) {
  if (payload.size() > static_cast<std::size_t>(payload_bytes_)) return Outcome::malformed;
  if (held_.contains(position)) return Outcome::duplicate;
  if (held_.size() >= most_held_) return Outcome::refused;
  held_.emplace(position, Held{data, {payload.begin(), payload.end()}});
  return Outcome::fresh;
}

InStream::Outcome InStream::write(Message& message, Position position, const Data& data,
                                  std::span<const std::byte> payload) {
  const std::int64_t index = position - message.first;
  if (data.sequence != message.sequence || data.packet != static_cast<std::uint32_t>(index)) return Outcome::mismatch;
  if (data.message_bytes != static_cast<std::uint64_t>(message.bytes)) return Outcome::mismatch;
  const std::int64_t begin = index * payload_bytes_;
  const std::int64_t end = std::min<std::int64_t>(begin + payload_bytes_, message.bytes);
  if (static_cast<std::int64_t>(payload.size()) != end - begin) return Outcome::malformed;
  const bool is_wanted = std::any_of(message.wanted.begin(), message.wanted.end(),
                                     [&](const Wanted& run) { return index >= run.begin && index < run.end; });
  if (!is_wanted) return Outcome::duplicate;
  for (const Part& part : message.parts) {
    const std::int64_t from = std::max(begin, part.offset_bytes);
    const std::int64_t to = std::min(end, part.offset_bytes + static_cast<std::int64_t>(part.buffer.size()));
    if (from < to)
      std::memcpy(part.buffer.data() + (from - part.offset_bytes), payload.data() + (from - begin),
                  static_cast<std::size_t>(to - from));
  }
  there_[slot(position)] = true;
  --message.missing;
  return Outcome::fresh;
}

std::vector<InStream::Range> InStream::missing(Position from, Position upto, std::size_t most_ranges) const {
  std::vector<Range> ranges;
  upto = std::min({upto, posted_, base_ + window_});
  for (Position position = next_wanted(std::max(from, base_)); position < upto; position = next_wanted(position + 1)) {
    if (there_[slot(position)]) continue;
    if (!ranges.empty() && ranges.back().first + ranges.back().packets == position) {
      ++ranges.back().packets;
    } else if (ranges.size() == most_ranges) {
      break;
    } else {
      ranges.push_back({position, 1});
    }
  }
  return ranges;
}

bool InStream::done(std::uint32_t sequence) const {
  if (messages_.empty()) return true;
  const std::uint32_t ahead = sequence - messages_.front().sequence;
  return ahead >= messages_.size() || messages_[ahead].missing == 0;
}

std::int64_t InStream::ready_bytes(std::uint32_t sequence) const {
  const std::uint32_t ahead = messages_.empty() ? 0 : sequence - messages_.front().sequence;
  if (ahead >= messages_.size()) return std::numeric_limits<std::int64_t>::max();
  const Message& message = messages_[ahead];
  if (message.missing == 0) return message.bytes;
  return std::clamp<std::int64_t>((base_ - message.first) * payload_bytes_, 0, message.bytes);
}

}  // namespace antiphon::multicast
