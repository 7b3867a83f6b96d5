// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "antiphon/algorithm.hpp"
#include "patterns/composition.hpp"
#include "patterns/levels.hpp"

namespace antiphon::barrier_by_nested {

namespace {

constexpr std::array<std::string_view, 3> among_nodes{"dissemination", "recursive_doubling", "tree"};

constexpr Parameter parameters[] = {
    {"outer", Role::mode, 0, 0, 2, "among nodes: 0 dissemination, 1 recursive_doubling, 2 tree"},
    {"inner", Role::fanout, 8, 1, 64, "children of a rank in the tree within a node"},
};

std::string_view outer(const Problem& p) { return among_nodes[static_cast<std::size_t>(p.parameter("outer"))]; }

bool supported(const Problem& p) { return has_levels(p) && supports_stage(p, Collective::barrier, outer(p)); }

/// Tokens go up a tree in each node, its leader meets the other leaders, and tokens go down again. Cost
/// (pLogP): that of the outer algorithm for N nodes, and 2 ⌈log_inner R⌉ (L + g(0)) within a node of R ranks; a network
/// carries as many messages as for N ranks.
Schedule build(const Problem& p) {
  const Levels levels(p);
  const std::vector<int> leaders = levels.leaders();
  const std::vector<int> node = levels.own().places();
  Composition s(p);
  s.within_node({Collective::reduce, "kary", node, levels.leader_index()});
  s.between_nodes({Collective::barrier, outer(p), leaders});
  s.within_node({Collective::bcast, "kary", node, levels.leader_index()});
  return s.take();
}

}  // namespace

extern const Algorithm barrier{
    .collective = Collective::barrier,
    .name = "nested",
    .summary = "tokens within nodes, among their leaders, and back; several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .levels = true,
};

}  // namespace antiphon::barrier_by_nested
