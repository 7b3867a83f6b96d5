// SPDX-License-Identifier: Apache-2.0
#include "cost/whole_nodes.hpp"

#include <bit>
#include <limits>

namespace antiphon {

bool is_quick(const PredictionLimits& limits) { return limits.max_ranks < std::numeric_limits<int>::max(); }

int whole_nodes(const Cluster& cluster, const PredictionLimits& limits) {
  const int per_node = (cluster.ranks() + cluster.nodes() - 1) / cluster.nodes();
  if (is_quick(limits)) return per_node > limits.max_ranks / fewest_nodes ? per_node : 1;
  const bool even =
      per_node * cluster.nodes() == cluster.ranks() && std::has_single_bit(static_cast<unsigned>(per_node));
  return even ? per_node : 1;
}

}  // namespace antiphon
