// SPDX-License-Identifier: Apache-2.0
#include "cost/ports.hpp"

#include <algorithm>
#include <limits>

namespace antiphon {

namespace {

/// Returns the measured slow-down where `senders` flows of `bytes` each meet at a receiver.
double incast_ratio(const void* context, int senders, double bytes) {
  const auto& table = *static_cast<const std::vector<Contention::Incast>*>(context);
  // This takes the worst of all entries with no more senders and bytes. Beyond the table's end, its last value holds.
  double ratio = 1;
  for (const Contention::Incast& entry : table) {
    if (entry.senders <= senders && static_cast<double>(entry.bytes) <= bytes) ratio = std::max(ratio, entry.ratio);
  }
  return ratio;
}

/// A link that carries all that the ports below it do never binds. To leave it out keeps apart what else would be
/// computed together.
constexpr ResourceId no_link = UINT32_MAX;
bool never_binds(double link_bytes_per_s, double ports_bytes_per_s) {
  constexpr double rounding = 1e-6;
  return link_bytes_per_s >= ports_bytes_per_s * (1 - rounding);
}

/// TCP's shortest timeout, for profiles where the probe saw none.
constexpr double usual_timeout_s = 0.2;

}  // namespace

NetworkPorts::NetworkPorts(const Cluster& cluster, int period)
    : cluster_(cluster), timeout_s_(cluster.profile().contention.retransmission_timeout_s) {
  if (timeout_s_ <= 0) timeout_s_ = usual_timeout_s;
  std::vector<int> all(static_cast<std::size_t>(cluster.nodes()), 0);
  std::vector<int> standing(all.size(), 0);
  for (int r = 0; r < cluster.ranks(); ++r) {
    ++all[static_cast<std::size_t>(cluster.node(r))];
    if (r < period) ++standing[static_cast<std::size_t>(cluster.node(r))];
  }
  const bool incast = !cluster.profile().contention.incast.empty();
  out_.resize(all.size());
  in_.resize(all.size());
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (standing[n] == 0) continue;
    // Ranks of the node that are not simulated themselves use the port too.
    const double share = static_cast<double>(standing[n]) / all[n];
    const NodeEntry& entry = cluster.entry(static_cast<int>(n));
    out_[n] = network_.add_resource(entry.port_bytes_per_s * share, entry.burst_bytes * share);
    in_[n] = network_.add_resource(entry.port_bytes_per_s * share, entry.burst_bytes * share, incast);
  }
  if (incast) network_.set_slowdown(&incast_ratio, &cluster.profile().contention.incast);
  by_level_ = period < cluster.ranks() && !cluster.tree().empty();
  by_level_ ? add_levels(static_cast<double>(standing[0]) / all[0]) : add_switches();
}

/// A node has its share of its switches' links, which the nodes that it stands for use as it does.
void NetworkPorts::add_levels(double share) {
  const double port_bytes_per_s = cluster_.entry(0).port_bytes_per_s;
  for (const TreeLevel& level : cluster_.tree()) {
    const bool never = never_binds(level.uplink_bytes_per_s, port_bytes_per_s * level.nodes);
    for (auto* links : {&up_, &down_})
      links->push_back(never ? no_link : network_.add_resource(level.uplink_bytes_per_s / level.nodes * share));
  }
}

void NetworkPorts::add_switches() {
  const Cluster& cluster = cluster_;
  const NodeEntry& port = cluster.entry(0);
  const auto& switches = cluster.profile().topology.switches;
  const std::vector<double> below = ports_below();
  for (std::size_t s = 0; s < switches.size(); ++s) {
    const SwitchEntry& entry = switches[s];
    const std::int64_t buffer =
        entry.uplink_buffer_bytes > 0 ? entry.uplink_buffer_bytes : cluster.profile().contention.port_buffer_bytes;
    const bool never = entry.parent < 0 || never_binds(entry.uplink_bytes_per_s, below[s]);
    for (auto* links : {&up_, &down_}) {
      // Links are shaped alike: an uplink's bucket holds as many seconds at its rate as a node's bucket does.
      const double burst = port.burst_bytes * entry.uplink_bytes_per_s / port.port_bytes_per_s;
      links->push_back(never ? no_link : network_.add_resource(entry.uplink_bytes_per_s, burst));
      if (!never && buffer > 0) queues_.add(links->back(), entry.uplink_bytes_per_s, static_cast<double>(buffer));
    }
  }
}

/// Returns what the ports of the nodes below each switch carry together.
std::vector<double> NetworkPorts::ports_below() const {
  const auto& switches = cluster_.profile().topology.switches;
  std::vector<double> below(switches.size(), 0.0);
  for (int n = 0; n < cluster_.nodes(); ++n) {
    const NodeEntry& entry = cluster_.entry(n);
    for (int s = entry.switch_index; s >= 0; s = switches[static_cast<std::size_t>(s)].parent)
      below[static_cast<std::size_t>(s)] += entry.port_bytes_per_s;
  }
  return below;
}

void NetworkPorts::start(MessageId message, double volume, const Route& route, double now) {
  const FlowId flow = network_.start(volume, route, now);
  if (message_of_flow_.size() <= flow) message_of_flow_.resize(flow + std::size_t{1}, no_message);
  message_of_flow_[flow] = message;
}

double NetworkPorts::next_s(double event_s) {
  return event_s <= network_.moment_s() ? std::numeric_limits<double>::infinity() : network_.next_event();
}

std::optional<MessageId> NetworkPorts::advance() {
  FlowId ended = 0;
  return network_.advance(ended) ? std::optional(message_of_flow_[ended]) : std::nullopt;
}

void NetworkPorts::enqueue(MessageId message, int from_node, double bytes, const Route& route, double now,
                           double idle_s) {
  if (!queues_.empty())
    queues_.send(message, from_node, cluster_.entry(from_node).port_bytes_per_s, bytes, route, now,
                 idle_s > timeout_s_);
}

double NetworkPorts::delay_s(MessageId message, double now) {
  return !queues_.empty() && queues_.lost(message, now) ? timeout_s_ : 0;
}

void NetworkPorts::add_tree(Route& route, int from_node, int to_node, bool exchange) const {
  if (!by_level_) return;
  for (std::size_t i = 0; i < cluster_.tree().size(); ++i) {
    const double share = cluster_.crossing(cluster_.tree()[i], from_node, to_node, exchange);
    if (share <= 0) continue;
    if (up_[i] == no_link) continue;
    route.add_before_last(up_[i], share);
    route.add_before_last(down_[i], share);
  }
}

Route NetworkPorts::route(int from_node, int to_node) const { return multicast_route(from_node, to_node, true, true); }

Route NetworkPorts::multicast_route(int from_node, int to_node, bool out, bool between) const {
  Route route;
  if (out) route.add(out_[static_cast<std::size_t>(from_node)]);
  const auto& switches = cluster_.profile().topology.switches;
  int a = cluster_.entry(from_node).switch_index;
  int b = cluster_.entry(to_node).switch_index;
  // A parent comes before its children, so the later of two switches is never above the other.
  while (between && a != b) {
    int& lower = a > b ? a : b;
    const ResourceId link = (a > b ? up_ : down_)[static_cast<std::size_t>(lower)];
    if (link != no_link) route.add(link);
    lower = switches[static_cast<std::size_t>(lower)].parent;
    if (lower < 0) break;
  }
  route.add(in_[static_cast<std::size_t>(to_node)]);
  return route;
}

}  // namespace antiphon
