// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "antiphon/algorithm.hpp"
#include "patterns/composition.hpp"
#include "patterns/levels.hpp"
#include "patterns/partition.hpp"

namespace antiphon::allreduce_by_nested {

namespace {

constexpr std::array<std::string_view, 5> among_nodes{"recursive_doubling", "rabenseifner", "ring", "reduce_bcast",
                                                      "switch_rings"};

constexpr Parameter parameters[] = {
    {"outer", Role::mode, 1, 0, 4,
     "among nodes: 0 recursive_doubling, 1 rabenseifner, 2 ring, 3 reduce_bcast, 4 switch_rings"},
    {"inner", Role::fanout, 8, 1, 64, "children of a rank in the tree within a node"},
    {"lanes", Role::leaders, 1, 1, 16, "leaders of a node, each of which combines a part of the message"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on whole vectors"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to one rank"},
};

std::string_view outer(const Problem& p) { return among_nodes[static_cast<std::size_t>(p.parameter("outer"))]; }

bool supported(const Problem& p) {
  return p.commutative && has_levels(p) && supports_stage(p, Collective::allreduce, outer(p));
}

/// Each node reduces to its first rank, these leaders combine what they have, and tell the ranks of their node: the
/// network carries one vector for each node instead of one for each rank. With several lanes, as many ranks of a node
/// do so with a part of the vector each, which shares out the node's reductions, too. Cost (pLogP): that of the outer
/// algorithm for N nodes, and 2 ⌈log_inner R⌉ (L + g(s)) within a node of R ranks.
Schedule build(const Problem& p) {
  const Levels levels(p, p.parameter("lanes"));
  const std::vector<int> node = levels.own().places();
  const Partition parts(p.bytes, p.element_bytes, levels.lanes());
  Composition s(p);
  int lanes = 1;
  while (lanes < levels.lanes() && parts.size(lanes) > 0) ++lanes;
  const auto operand = [&](int lane) { return parts.of(p.whole_input(), lane); };
  const auto result = [&](int lane) { return parts.of(p.whole_output(), lane); };
  const auto reduced = [&](int lane) { return node.size() == 1 ? operand(lane) : result(lane); };
  for (int lane = 0; lane < lanes; ++lane) {
    const int leader = levels.leader_index(lane);
    s.within_node({Collective::reduce, "kary", node, leader, operand(lane), reduced(lane)});
  }
  for (int lane = 0; lane < lanes; ++lane) {
    const std::vector<int> leaders = levels.leaders(lane);
    s.between_nodes({Collective::allreduce, outer(p), leaders, 0, reduced(lane), result(lane)});
  }
  for (int lane = 0; lane < lanes; ++lane)
    s.within_node({Collective::bcast, "kary", node, levels.leader_index(lane), result(lane), result(lane)});
  return s.take();
}

}  // namespace

extern const Algorithm allreduce{
    .collective = Collective::allreduce,
    .name = "nested",
    .summary = "within nodes, among their leaders, and back; several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .levels = true,
};

}  // namespace antiphon::allreduce_by_nested
