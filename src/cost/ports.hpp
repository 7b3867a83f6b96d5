// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  /// Of the nodes of the ranks below `period`, which stand for all.
  NetworkPorts(const Cluster& cluster, int period);

  [[nodiscard]] Route route(int from_node, int to_node) const;
  /// The route of a multicast's copy to one node: the node's port, with `out` the sender's port, and with `between` the
  /// links between their switches. Over each link one copy passes, so only one of the copies' routes names it.
  [[nodiscard]] Route multicast_route(int from_node, int to_node, bool out, bool between) const;
  /// The bytes that a message counts as: what its sender's port passes in the message's gap.
  [[nodiscard]] double volume(int from_node, double gap_s) const {
    return gap_s * cluster_.entry(from_node).port_bytes_per_s;
  }
  /// A message that counts as `volume` bytes begins on its way.
  void start(MessageId message, double volume, const Route& route, double now);
  /// The message's packets, `bytes` in all, come to the ports' queues. Its connection was idle for `idle_s` before.
  void enqueue(MessageId message, int from_node, double bytes, const Route& route, double now, double idle_s);
  /// When something changes next; infinity if nothing does, or if the event at `event_s` belongs to the present moment.
  double next_s(double event_s);
  /// Goes on to next_s(). The message whose last byte leaves then, if one does.
  std::optional<MessageId> advance();
  /// How many rates of flows have been computed.
  [[nodiscard]] std::int64_t rate_updates() const { return network_.rate_updates(); }
  /// How much later a message arrives that has left by `now`, because packets of it were lost. Asked once a message.
  double delay_s(MessageId message, double now);

 private:
  const Cluster& cluster_;
  FlowNetwork network_;
  PortQueues queues_;
  std::vector<MessageId> message_of_flow_;
  double timeout_s_;
  std::vector<ResourceId> out_, in_;   ///< by node
  std::vector<ResourceId> up_, down_;  ///< by switch
};

}  // namespace antiphon
