// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "antiphon/algorithm.hpp"
#include "patterns/composition.hpp"
#include "patterns/levels.hpp"

namespace antiphon::reduce_algorithms {

namespace {

constexpr std::array<std::string_view, 3> among_nodes{"binomial", "chain", "rabenseifner"};

constexpr Parameter parameters[] = {
    {"outer", Role::mode, 1, 0, 2, "among nodes: 0 binomial, 1 chain, 2 rabenseifner"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way from one rank"},
};

std::string_view outer(const Problem& p) { return among_nodes[static_cast<std::size_t>(p.parameter("outer"))]; }

bool supported(const Problem& p) {
  return p.commutative && has_levels(p) &&
         supports_stage(p, Collective::reduce, outer(p), static_cast<int>(p.node_sizes.size()));
}

/// Each node reduces to one of its ranks, its leader, up a binomial tree; the leaders reduce to the root, segment by
/// segment as they are done. So each operand crosses the network once for all ranks of a node. Cost (pLogP): that of
/// the outer algorithm for N nodes, and ⌈log2 R⌉ (L + g(s)) within a node of R ranks.
Schedule build(const Problem& p) {
  const Levels levels(p);
  const std::vector<int> leaders = levels.leaders();
  const std::vector<int> node = levels.own().places();
  const bool root = p.rank == p.root;
  Composition s(p);
  // The root's node reduces into the root's output, other nodes into scratch memory of their leaders.
  const bool alone = node.size() == 1;
  const Range reduced = alone            ? p.whole_input()
                        : root           ? p.whole_output()
                        : levels.leads() ? s.scratch(p.bytes)
                                         : Range{};
  s.within_node({Collective::reduce, "binomial", node, levels.leader_index(), p.whole_input(), reduced});
  s.between_nodes({Collective::reduce, outer(p), leaders, levels.root_node(), reduced, p.whole_output()});
  return s.take();
}

}  // namespace

extern const Algorithm nested{
    .collective = Collective::reduce,
    .name = "nested",
    .summary = "within nodes, then among their leaders, segment by segment; several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .levels = true,
};

}  // namespace antiphon::reduce_algorithms
