// SPDX-License-Identifier: Apache-2.0
#include "cost/queues.hpp"

#include <algorithm>

#include "antiphon/ethernet.hpp"

namespace antiphon {

namespace {

/// TCP detects a lost packet by three acknowledgements of later packets.
constexpr double least_window_bytes = 4 * ethernet::payload_bytes;
/// The window of a connection that has rested (RFC 6928): a message no longer than this leaves at once, whatever was
/// lost before.
constexpr double initial_window_bytes = 10 * ethernet::payload_bytes;

}  // namespace

void PortQueues::add(ResourceId resource, double bytes_per_s, double buffer_bytes) {
  ports_[resource] = {bytes_per_s, buffer_bytes};
}

void PortQueues::send(std::uint32_t message, int node, double bytes_per_s, double bytes, const Route& route, double now,
                      bool rested) {
  const auto n = static_cast<std::size_t>(node);
  if (node_busy_until_.size() <= n) node_busy_until_.resize(n + 1, 0.0);
  if (!rested || bytes > initial_window_bytes) bytes = std::min(bytes, least_window_bytes);
  const double there = node_busy_until_[n] = std::max(node_busy_until_[n], now) + bytes / bytes_per_s;
  if (sent_.size() <= message) sent_.resize(message + std::size_t{1});
  sent_[message] = {++order_, false};
  for (std::size_t i = 0; i < route.count; ++i) {
    if (ports_.contains(route.resources[i]))
      arrivals_.push({there, ++order_, message, sent_[message].serial, route.resources[i], bytes});
  }
}

bool PortQueues::lost(std::uint32_t message, double now) {
  while (!arrivals_.empty() && arrivals_.top().time <= now) {
    take_in(arrivals_.top());
    arrivals_.pop();
  }
  return message < sent_.size() && sent_[message].lost;
}

/// The excess is lost, evenly from all messages that come. A message waits if its last packet is lost.
void PortQueues::take_in(const Arrival& arrival) {
  Port& port = ports_.at(arrival.port);
  port.level = std::max(port.level - port.rate * (arrival.time - port.since), 0.0) + arrival.bytes;
  port.since = arrival.time;
  if (port.level <= port.buffer) return;
  port.lost += std::min((port.level - port.buffer) / arrival.bytes, 1.0);
  port.level = port.buffer;
  if (port.lost < 0.5) return;
  port.lost -= 1;
  // A message may be there before its packets are in the model's queue, and another may have its number then.
  Sent& sent = sent_[arrival.message];
  if (sent.serial == arrival.serial) sent.lost = true;
}

}  // namespace antiphon
