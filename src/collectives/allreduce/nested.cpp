// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "antiphon/algorithm.hpp"
#include "patterns/composition.hpp"
#include "patterns/levels.hpp"

namespace antiphon::allreduce_algorithms {

namespace {

constexpr std::array<std::string_view, 4> among_nodes{"recursive_doubling", "rabenseifner", "ring", "reduce_bcast"};

constexpr Parameter parameters[] = {
    {"outer", Role::mode, 1, 0, 3, "among nodes: 0 recursive_doubling, 1 rabenseifner, 2 ring, 3 reduce_bcast"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on whole vectors"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to one rank"},
};

std::string_view outer(const Problem& p) { return among_nodes[static_cast<std::size_t>(p.parameter("outer"))]; }

bool supported(const Problem& p) {
  return p.commutative && has_levels(p) &&
         supports_stage(p, Collective::allreduce, outer(p), static_cast<int>(p.node_sizes.size()));
}

/// Each node reduces to its first rank, these leaders combine what they have, and tell the ranks of their node: the
/// network carries one vector for each node instead of one for each rank. Cost (pLogP): that of the outer algorithm for
/// N nodes, and 2 ⌈log2 R⌉ (L + g(s)) within a node of R ranks.
Schedule build(const Problem& p) {
  const Levels levels(p);
  const std::vector<int> leaders = levels.leaders();
  const std::vector<int> node = levels.own().places();
  Composition s(p);
  const Range reduced = node.size() == 1 ? p.whole_input() : p.whole_output();
  s.within_node({Collective::reduce, "binomial", node, levels.leader_index(), p.whole_input(), reduced});
  s.between_nodes({Collective::allreduce, outer(p), leaders, 0, reduced, p.whole_output()});
  s.within_node({Collective::bcast, "binomial", node, levels.leader_index(), p.whole_output(), p.whole_output()});
  return s.take();
}

}  // namespace

extern const Algorithm nested{
    .collective = Collective::allreduce,
    .name = "nested",
    .summary = "within nodes, among their leaders, and back; several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .levels = true,
};

}  // namespace antiphon::allreduce_algorithms
