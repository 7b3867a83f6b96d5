// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "antiphon/algorithm.hpp"
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

StageCall outer(const Problem& p, int root_node) {
  return {Collective::bcast, among_nodes[static_cast<std::size_t>(p.parameter("outer"))], root_node};
}

bool supported(const Problem& p) {
  return has_levels(p) && supports_stage(p, outer(p, 0), static_cast<int>(p.node_sizes.size()));
}

/// The root tells one rank of each node, its leader, and each leader the other ranks of its node, down a binomial tree.
/// A segment goes on within a node as soon as it has come in, so that the network's part has as many ranks as there are
/// nodes. Cost (pLogP): that of the outer algorithm for N nodes, and ⌈log2 R⌉ (L + g(s)) within a node of R ranks.
Schedule build(const Problem& p) {
  const Levels levels = levels_of(p);
  const StageMemory memory{p.whole_output(), p.whole_output()};
  Composition s(p);
  if (levels.leads()) s.add(0, outer(p, levels.root_node), levels.leaders, levels.own_node, memory);
  s.add(1, {Collective::bcast, "binomial", levels.leader_index}, levels.node, levels.own_index, memory);
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
