// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "antiphon/algorithm.hpp"
#include "patterns/composition.hpp"
#include "patterns/levels.hpp"
#include "patterns/partition.hpp"

namespace antiphon::bcast_by_nested {

namespace {

constexpr std::array<std::string_view, 5> among_nodes{"binomial", "chain", "scatter_allgather_ring",
                                                      "scatter_allgather_recursive_doubling", "knomial"};

constexpr Parameter parameters[] = {
    {"outer", Role::mode, 2, 0, 4,
     "among nodes: 0 binomial, 1 chain, 2 scatter_allgather_ring, 3 scatter_allgather_recursive_doubling, 4 knomial"},
    {"inner", Role::fanout, 8, 1, 64, "children of a rank in the tree within a node"},
    {"lanes", Role::leaders, 1, 1, 16, "leaders of a node, each of which sends on a part of the message"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 sends the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to one rank"},
};

std::string_view outer(const Problem& p) { return among_nodes[static_cast<std::size_t>(p.parameter("outer"))]; }

bool supported(const Problem& p) {
  return (has_levels(p) || has_switches(p)) && supports_stage(p, Collective::bcast, outer(p));
}

/// The root tells one rank of each node, its leader, and each leader the other ranks of its node, down a tree.
/// A segment goes on within a node as soon as it has come in, so that the network's part has as many ranks as there are
/// nodes. With several lanes, as many ranks of a node bring in and send on a part of the message each, where one is not
/// enough to fill the port. Cost (pLogP): that of the outer algorithm for N nodes, and ⌈log_inner R⌉ (L + g(s)) within
/// a node of R ranks.
Schedule build(const Problem& p) {
  const Levels levels(p, p.parameter("lanes"));
  const std::vector<int> node = levels.own().places();
  const Partition parts(p.bytes, 1, levels.lanes());
  Composition s(p);
  const auto between = [&](int lane) {
    const std::vector<int> leaders = levels.leaders(lane);
    const Range part = parts.of(p.whole_output(), lane);
    s.between_nodes({Collective::bcast, outer(p), leaders, levels.root_node(), part, part});
  };
  const auto within = [&](int lane, int from) {
    const Range part = parts.of(p.whole_output(), lane);
    s.within_node({Collective::bcast, "kary", node, from - levels.own().first, part, part});
  };
  const bool at_root = levels.own_node() == levels.root_node();
  // In the root's node, leaders of other lanes have their parts from the root; what the root itself sends goes first.
  const bool told_first = at_root && p.rank != p.root;
  for (int lane = 0; lane < levels.lanes(); ++lane) {
    if (lane > 0 && parts.size(lane) == 0) continue;
    if (!told_first) between(lane);
    within(lane, at_root ? p.root : levels.leader(levels.own_node(), lane));
    if (told_first) between(lane);
  }
  return s.take();
}

}  // namespace

extern const Algorithm bcast{
    .collective = Collective::bcast,
    .name = "nested",
    .summary = "among the nodes' leaders, then within nodes, segment by segment; several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .levels = true,
};

}  // namespace antiphon::bcast_by_nested
