// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "antiphon/cost.hpp"
#include "cost/flows.hpp"
#include "cost/messages.hpp"
#include "cost/queues.hpp"

namespace antiphon {

/// The network: nodes' ports and switches' uplinks, and what is on its way through them.
class NetworkPorts {
 public:
  /// Makes the ports of the nodes of the ranks below `period`, which stand for all.
  NetworkPorts(const Cluster& cluster, int period);

  [[nodiscard]] Route route(int from_node, int to_node) const;
  /// Adds the links of a regular tree to the route between two nodes that stand for all at this distance: of each
  /// level, as large a share as there are nodes whose messages cross its links.
  void add_tree(Route& route, int from_node, int to_node, bool exchange) const;
  /// Returns the route of a multicast's copy to one node: the node's port, with `out` also the sender's port, and with
  /// `between` also the links between their switches. One copy passes each link, so only one of the copies' routes
  /// names it.
  [[nodiscard]] Route multicast_route(int from_node, int to_node, bool out, bool between) const;
  /// Returns the bytes that a message counts as: those that its sender's port passes in the message's gap, or its
  /// connection of this class if that is slower.
  [[nodiscard]] double volume(int from_node, double gap_s, const LinkClass* link = nullptr) const {
    const double port = cluster_.entry(from_node).port_bytes_per_s;
    return gap_s * (link != nullptr ? link->one_connection(port) : port);
  }
  /// Adds what else messages share: a connection, or a rank's core.
  ResourceId add_limit(double bytes_per_s) { return network_.add_resource(bytes_per_s); }
  /// A message that counts as `volume` bytes starts.
  void start(MessageId message, double volume, const Route& route, double now);
  /// The message's packets, `bytes` in all, come to the ports' queues. Its connection was idle for `idle_s` before.
  void enqueue(MessageId message, int from_node, double bytes, const Route& route, double now, double idle_s);
  /// Returns when something changes next: infinity if nothing does, or if the event at `event_s` belongs to the present
  /// moment.
  double next_s(double event_s);
  /// Goes on to next_s(). Returns the message with a last byte that leaves then, if there is one.
  std::optional<MessageId> advance();
  /// Returns how many rates of flows have been computed.
  [[nodiscard]] std::int64_t rate_updates() const { return network_.rate_updates(); }
  /// Returns how much later a message that left by `now` arrives because of lost packets. It is asked once for each
  /// message.
  double delay_s(MessageId message, double now);

 private:
  void add_levels(double share);
  void add_switches();
  [[nodiscard]] std::vector<double> ports_below() const;

  const Cluster& cluster_;
  FlowNetwork network_;
  PortQueues queues_;
  std::vector<MessageId> message_of_flow_;
  double timeout_s_;
  std::vector<ResourceId> out_, in_;  ///< by node
  /// By switch; by level of the tree where few ranks stand for all. Some never bind, and are left out.
  std::vector<ResourceId> up_, down_;
  bool by_level_ = false;
};

}  // namespace antiphon
