// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <queue>
#include <vector>

#include "cost/flows.hpp"

namespace antiphon {

/// The buffers of switches' ports, and the losses there. TCP makes its windows smaller until they fit into the ports on
/// its way, but it needs four packets under way to notice a loss without a timeout. Where that much of all messages
/// exceeds a port's buffer, packets are lost again and again, and some message waits for a timeout.
class PortQueues {
 public:
  /// The resource has a buffer, which empties at `bytes_per_s`.
  void add(ResourceId resource, double bytes_per_s, double buffer_bytes);
  /// A message of `bytes` leaves its node at the rate of the node's port, behind what left before. A connection that
  /// has `rested` does not remember earlier losses.
  void send(std::uint32_t message, int node, double bytes_per_s, double bytes, const Route& route, double now,
            bool rested);
  /// Returns whether a message that has left by `now` waits for a timeout. It is asked once for each message.
  bool lost(std::uint32_t message, double now);
  [[nodiscard]] bool empty() const { return ports_.empty(); }

 private:
  struct Port {
    double rate = 0;
    double buffer = 0;
    double level = 0;
    double since = 0;
    double lost = 0;  ///< the number of messages that should have waited, less those that did
  };
  struct Arrival {
    double time = 0;
    std::uint64_t order = 0;
    std::uint32_t message = 0;
    std::uint64_t serial = 0;  ///< of the message, since numbers are used again
    ResourceId port = 0;
    double bytes = 0;
    bool operator<(const Arrival& other) const { return time != other.time ? time > other.time : order > other.order; }
  };

  struct Sent {
    std::uint64_t serial = 0;
    bool lost = false;
  };

  void take_in(const Arrival& arrival);

  std::map<ResourceId, Port> ports_;
  std::vector<double> node_busy_until_;
  std::vector<Sent> sent_;  ///< by message
  std::priority_queue<Arrival> arrivals_;
  std::uint64_t order_ = 0;
};

}  // namespace antiphon
