// SPDX-License-Identifier: Apache-2.0
#include "cost/ports.hpp"

#include <algorithm>
#include <cmath>

namespace antiphon {

namespace {

/// The measured slow-down where so many senders meet, with so many bytes each: the nearest measured sizes and numbers,
/// straight lines between them.
double incast_ratio(const void* context, int senders, double bytes) {
  const auto& table = *static_cast<const std::vector<Contention::Incast>*>(context);
  // Of the entries with at most that many senders and bytes, the worst; what lies beyond the table is as bad as its
  // end.
  double ratio = 1;
  for (const Contention::Incast& entry : table) {
    if (entry.senders <= senders && static_cast<double>(entry.bytes) <= bytes) ratio = std::max(ratio, entry.ratio);
  }
  return ratio;
}

/// TCP's least, where the probe saw none.
constexpr double usual_timeout_s = 0.2;

}  // namespace

NetworkPorts::NetworkPorts(const Machine& machine, int period)
    : machine_(machine), timeout_s_(machine.profile().contention.retransmission_timeout_s) {
  if (timeout_s_ <= 0) timeout_s_ = usual_timeout_s;
  std::vector<int> all(static_cast<std::size_t>(machine.nodes()), 0);
  std::vector<int> standing(all.size(), 0);
  for (int r = 0; r < machine.ranks(); ++r) {
    ++all[static_cast<std::size_t>(machine.node(r))];
    if (r < period) ++standing[static_cast<std::size_t>(machine.node(r))];
  }
  const bool incast = !machine.profile().contention.incast.empty();
  out_.resize(all.size());
  in_.resize(all.size());
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (standing[n] == 0) continue;
    // Ranks of the node that are stood for use the port too.
    const double share = static_cast<double>(standing[n]) / all[n];
    const NodeEntry& entry = machine.entry(static_cast<int>(n));
    out_[n] = network_.add_resource(entry.port_bytes_per_s * share, entry.burst_bytes * share);
    in_[n] = network_.add_resource(entry.port_bytes_per_s * share, entry.burst_bytes * share, incast);
  }
  const NodeEntry& port = machine.entry(0);
  for (const SwitchEntry& entry : machine.profile().topology.switches) {
    const std::int64_t buffer =
        entry.uplink_buffer_bytes > 0 ? entry.uplink_buffer_bytes : machine.profile().contention.port_buffer_bytes;
    for (auto* links : {&up_, &down_}) {
      // Of links that are shaped alike the bucket is as deep in time as that of a node's port.
      const double burst = port.burst_bytes * entry.uplink_bytes_per_s / port.port_bytes_per_s;
      links->push_back(entry.parent < 0 ? 0 : network_.add_resource(entry.uplink_bytes_per_s, burst));
      if (entry.parent >= 0 && buffer > 0)
        queues_.add(links->back(), entry.uplink_bytes_per_s, static_cast<double>(buffer));
    }
  }
  if (incast) network_.set_slowdown(&incast_ratio, &machine.profile().contention.incast);
}

void NetworkPorts::send(std::uint32_t message, int from_node, double bytes, const Route& route, double now,
                        double idle_s) {
  if (!queues_.empty())
    queues_.send(message, from_node, machine_.entry(from_node).port_bytes_per_s, bytes, route, now,
                 idle_s > timeout_s_);
}

double NetworkPorts::delay_s(std::uint32_t message, double now) {
  return !queues_.empty() && queues_.lost(message, now) ? timeout_s_ : 0;
}

Route NetworkPorts::route(int from_node, int to_node) const { return multicast_route(from_node, to_node, true, true); }

Route NetworkPorts::multicast_route(int from_node, int to_node, bool out, bool between) const {
  Route route;
  if (out) route.add(out_[static_cast<std::size_t>(from_node)]);
  const auto& switches = machine_.profile().topology.switches;
  int a = machine_.entry(from_node).switch_index;
  int b = machine_.entry(to_node).switch_index;
  // A parent comes before its children: of two different switches the later one is not above the other.
  while (between && a != b) {
    int& lower = a > b ? a : b;
    route.add((a > b ? up_ : down_)[static_cast<std::size_t>(lower)]);
    lower = switches[static_cast<std::size_t>(lower)].parent;
    if (lower < 0) break;
  }
  route.add(in_[static_cast<std::size_t>(to_node)]);
  return route;
}

}  // namespace antiphon
