// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "antiphon/algorithm.hpp"
#include "patterns/composition.hpp"
#include "patterns/levels.hpp"

namespace antiphon::bcast_algorithms {

namespace {

constexpr std::array<std::string_view, 4> among_nodes{"binomial", "chain", "scatter_allgather_ring",
                                                      "scatter_allgather_recursive_doubling"};

constexpr Parameter parameters[] = {
    {"outer", Role::mode, 1, 0, 3,
     "among nodes: 0 binomial, 1 chain, 2 scatter_allgather_ring, 3 scatter_allgather_recursive_doubling"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 sends the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to one rank"},
};

std::string_view outer(const Problem& p) { return among_nodes[static_cast<std::size_t>(p.parameter("outer"))]; }

bool supported(const Problem& p) {
  return has_levels(p) && supports_stage(p, Collective::bcast, outer(p), static_cast<int>(p.node_sizes.size()));
}

/// The root tells one rank of each node, its leader, and each leader the other ranks of its node, down a binomial tree.
/// A segment goes on within a node as soon as it has come in, so that the network's part has as many ranks as there are
/// nodes. Cost (pLogP): that of the outer algorithm for N nodes, and ⌈log2 R⌉ (L + g(s)) within a node of R ranks.
Schedule build(const Problem& p) {
  const Levels levels(p);
  const std::vector<int> leaders = levels.leaders();
  const std::vector<int> node = levels.own().places();
  Composition s(p);
  s.between_nodes(
      {Collective::bcast, outer(p), leaders, levels.root_node(), p.whole_output(), p.whole_output()});
  s.within_node(
      {Collective::bcast, "binomial", node, levels.leader_index(), p.whole_output(), p.whole_output()});
  return s.take();
}

}  // namespace

extern const Algorithm nested{
    .collective = Collective::bcast,
    .name = "nested",
    .summary = "among the nodes' leaders, then within nodes, segment by segment; several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .levels = true,
};

}  // namespace antiphon::bcast_algorithms
