// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "antiphon/cost.hpp"
#include "cost/flows.hpp"
#include "cost/queues.hpp"

namespace antiphon {

/// The machine's ports and uplinks as resources, and the way from node to node.
class NetworkPorts {
 public:
  /// The nodes of the ranks below `period`, which stand for all.
  NetworkPorts(const Machine& machine, int period);

  [[nodiscard]] Route route(int from_node, int to_node) const;
  /// Of a multicast's copy to a node: its port; `out`: the sender's port too, `between`: and the links between their
  /// switches. Each copy that is on the wire once is in one of the routes.
  [[nodiscard]] Route multicast_route(int from_node, int to_node, bool out, bool between) const;
  /// Bytes that a message counts as on its ports: what they could pass in its gap.
  [[nodiscard]] double volume(int from_node, double gap_s) const {
    return gap_s * machine_.entry(from_node).port_bytes_per_s;
  }
  FlowNetwork& network() { return network_; }
  /// A message of so many bytes begins on its way; nothing did on its connection for `idle_s` before.
  void send(std::uint32_t message, int from_node, double bytes, const Route& route, double now, double idle_s);
  /// How much later than its last byte could be there a message that has left is there, since packets were lost.
  double delay_s(std::uint32_t message, double now);

 private:
  const Machine& machine_;
  FlowNetwork network_;
  PortQueues queues_;
  double timeout_s_;
  std::vector<ResourceId> out_, in_;   ///< by node
  std::vector<ResourceId> up_, down_;  ///< by switch
};

}  // namespace antiphon
