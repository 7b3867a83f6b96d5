// SPDX-License-Identifier: Apache-2.0
// How ranks stand along the tree of switches and nodes: the order in which schedules take them, and which of them are
// near each other. Builders see no more of the tree than this.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "antiphon/profile.hpp"

namespace antiphon {

struct Places {
  std::vector<int> order;         ///< as Problem::order; empty: ranks stand so already
  std::vector<int> node_sizes;    ///< as Problem::node_sizes
  std::vector<int> switch_sizes;  ///< as Problem::switch_sizes

  /// Returns the sizes of nodes and of switches; of switches none unless ranks stand so already.
  [[nodiscard]] std::pair<std::vector<int>, std::vector<int>> groups() const {
    return {node_sizes, order.empty() ? switch_sizes : std::vector<int>{}};
  }
};

/// Puts ranks along the tree: those of a switch together, switches that share an uplink together, and those of a node
/// together. `node_of_rank` has the node of each rank; node n is the topology's node n, and with more nodes than it has
/// they begin again. With a root, the root comes first, then its node, its switch and what is nearest to it, so that a
/// chain from the root enters each switch once.
Places places_along(std::span<const int> node_of_rank, const Topology& topology, std::optional<int> root);

/// Returns a switch for each rank (Topology::switches), and nothing if all ranks are on one.
std::vector<int> switch_of_ranks(std::span<const int> node_of_rank, const Topology& topology);

}  // namespace antiphon
