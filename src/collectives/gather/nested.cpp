// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "antiphon/algorithm.hpp"
#include "patterns/block_row.hpp"

namespace antiphon::gather_by_nested {

namespace {

constexpr std::array<std::string_view, 2> among_nodes{"flat", "binomial"};

constexpr Parameter parameters[] = {
    {"outer", Role::mode, 0, 0, 1, "among nodes: 0 flat, 1 binomial"},
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment of a message; 0 sends whole messages"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way from one rank"},
};

std::string_view outer(const Problem& p) { return among_nodes[static_cast<std::size_t>(p.parameter("outer"))]; }

/// Each node's blocks are brought together at one of its ranks, its leader, and travel to the root together: N−1
/// messages come into the root's node instead of one for each rank. Cost (pLogP): that of the outer algorithm for N
/// nodes with blocks of R m, and (R−1) g(m) + L within a node of R ranks.
Schedule build(const Problem& p) {
  const Levels levels(p);
  const std::vector<int> leaders = levels.leaders();
  const std::vector<int> node = levels.own().places();
  Composition s(p);
  const bool root = p.rank == p.root;
  const BlockRow all(s, output_blocks(p), root);
  const std::int64_t node_bytes = levels.own().size() * p.bytes;
  const Range held = root                       ? all.of(levels.own())
                     : levels.own().size() == 1 ? p.whole_input()
                     : levels.leads()           ? s.scratch(node_bytes)
                                                : Range{};
  s.within_node({.collective = Collective::gatherv,
                 .algorithm = "flat",
                 .members = node,
                 .root = levels.leader_index(),
                 .input = p.whole_input(),
                 .received = equal_blocks(held, levels.own().size(), p.bytes)});
  s.between_nodes({.collective = Collective::gatherv,
                   .algorithm = outer(p),
                   .members = leaders,
                   .root = levels.root_node(),
                   .input = held,
                   .received = all.by_node(levels)});
  if (root) all.spread(s);
  return s.take();
}

}  // namespace

extern const Algorithm gather{
    .collective = Collective::gather,
    .name = "nested",
    .summary = "a node's blocks are brought together and travel to the root as one; several ranks a node",
    .parameters = parameters,
    .supports = has_levels,
    .build = build,
    .any_order = true,
    .levels = true,
};

}  // namespace antiphon::gather_by_nested
