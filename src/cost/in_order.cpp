// SPDX-License-Identifier: Apache-2.0
#include "cost/in_order.hpp"

namespace antiphon {

std::pair<PredictedCall, Cluster> in_order(const PredictedCall& call, const Cluster& cluster,
                                           const std::vector<int>& order) {
  PredictedCall placed = call;
  std::vector<int> nodes;
  for (std::size_t place = 0; place < order.size(); ++place) {
    if (order[place] == call.root) placed.root = static_cast<int>(place);
    nodes.push_back(cluster.node(order[place]));
  }
  return {placed, Cluster(cluster.profile(), std::move(nodes))};
}

}  // namespace antiphon
