// SPDX-License-Identifier: Apache-2.0
#include "cables/queue.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace antiphon::cables {

namespace {

constexpr double bits_and_ns = 8e9;  // of a byte, and of a second

}  // namespace

std::int64_t Queue::room_bytes() const {
  return (pool_ == nullptr ? terms_.buffer_bytes : pool_->free_bytes()) - held_bytes_;
}

void Queue::hold(std::int64_t bytes) {
  held_bytes_ += bytes;
  if (pool_ != nullptr) pool_->used_bytes += bytes;
  counts_.longest_bytes = std::max(counts_.longest_bytes, held_bytes_);
}

void Queue::arrive(Packet packet, std::int64_t now_ns) {
  if (terms_.bits_per_s == 0) {
    ++counts_.sent;
    travelling_.push_back({std::move(packet), now_ns + terms_.latency_ns});
    return;
  }
  send(now_ns);
  const std::int64_t bytes = packet.wire_bytes();
  if (bytes > room_bytes()) {
    ++counts_.dropped;
    return;
  }
  if (terms_.mark_bytes > 0 && held_bytes_ >= terms_.mark_bytes && packet.mark()) ++counts_.marked;
  hold(bytes);
  waiting_.push_back({std::move(packet), bytes, now_ns});
  send(now_ns);
}

/// Returns when the first packet that waits leaves the port, which may be past where the caller comes late.
std::int64_t Queue::send_ns() const {
  // A packet that is longer than the bucket goes when the bucket is full, and leaves it in debt.
  const Waiting& first = waiting_.front();
  const double needed = static_cast<double>(std::min(first.bytes, terms_.burst_bytes)) - tokens_;
  const double wait_ns = std::max(needed, 0.0) * bits_and_ns / static_cast<double>(terms_.bits_per_s);
  return std::max(tokens_at_ns_ + static_cast<std::int64_t>(std::ceil(wait_ns)), first.arrived_ns);
}

void Queue::send(std::int64_t now_ns) {
  while (!waiting_.empty()) {
    const std::int64_t at_ns = send_ns();
    if (at_ns > now_ns) return;
    const auto passed_ns = static_cast<double>(at_ns - tokens_at_ns_);
    const double more = passed_ns * static_cast<double>(terms_.bits_per_s) / bits_and_ns;
    tokens_ = std::min(tokens_ + more, static_cast<double>(terms_.burst_bytes));
    tokens_at_ns_ = at_ns;
    Waiting first = std::move(waiting_.front());
    waiting_.pop_front();
    tokens_ -= static_cast<double>(first.bytes);
    hold(-first.bytes);
    ++counts_.sent;
    travelling_.push_back({std::move(first.packet), at_ns + terms_.latency_ns});
  }
}

std::optional<Packet> Queue::leave(std::int64_t now_ns) {
  send(now_ns);
  if (travelling_.empty() || travelling_.front().arrives_ns > now_ns) return std::nullopt;
  Packet first = std::move(travelling_.front().packet);
  travelling_.pop_front();
  return first;
}

std::int64_t Queue::due_ns() const {
  const std::int64_t arrives = travelling_.empty() ? never : travelling_.front().arrives_ns;
  return waiting_.empty() ? arrives : std::min(arrives, send_ns());
}

}  // namespace antiphon::cables
