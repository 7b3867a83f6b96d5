// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "antiphon/algorithm.hpp"
#include "patterns/composition.hpp"
#include "patterns/levels.hpp"
#include "patterns/partition.hpp"

namespace antiphon::reduce_by_nested {

namespace {

constexpr std::array<std::string_view, 3> among_nodes{"binomial", "chain", "rabenseifner"};

constexpr Parameter parameters[] = {
    {"outer", Role::mode, 2, 0, 2, "among nodes: 0 binomial, 1 chain, 2 rabenseifner"},
    {"inner", Role::fanout, 8, 1, 64, "children of a rank in the tree within a node"},
    {"lanes", Role::leaders, 1, 1, 16, "leaders of a node, each of which reduces a part of the message"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way from one rank"},
};

std::string_view outer(const Problem& p) { return among_nodes[static_cast<std::size_t>(p.parameter("outer"))]; }

bool supported(const Problem& p) {
  return p.commutative && (has_levels(p) || has_switches(p)) && supports_stage(p, Collective::reduce, outer(p));
}

/// One lane: a node's ranks reduce their part to the lane's leader, and the leaders to the one of the root's node,
/// which hands the result to the root if it is another rank.
void add_lane(Composition& s, const Problem& p, const Levels& levels, int lane, const Partition& parts) {
  const std::vector<int> node = levels.own().places();
  const std::vector<int> leaders = levels.leaders(lane);
  const Range operand = parts.of(p.whole_input(), lane);
  const Range result = parts.of(p.whole_output(), lane);
  // The root reduces into its output, other leaders into scratch memory.
  const bool alone = node.size() == 1;
  const Range reduced = alone                ? operand
                        : p.rank == p.root   ? result
                        : levels.leads(lane) ? s.scratch(operand.bytes)
                                             : Range{};
  s.within_node({Collective::reduce, "kary", node, levels.leader_index(lane), operand, reduced});
  s.between_nodes(
      {Collective::reduce, outer(p), leaders, levels.root_node(), reduced, p.rank == p.root ? result : reduced});
  const int last = levels.leader(levels.root_node(), lane);
  const std::array<int, 2> hands_over{last, p.root};
  if (last == p.root || levels.own_node() != levels.root_node()) return;
  const Range held = p.rank == p.root ? result : reduced;
  s.within_node({Collective::bcast, "kary", hands_over, 0, held, held});
}

/// Each node reduces to one of its ranks, its leader, up a tree; the leaders reduce to the root, segment by
/// segment as they are done. So each operand crosses the network once for all ranks of a node. With several lanes, as
/// many ranks of a node do so with a part of the vector each, which shares out the node's reductions, too. Cost
/// (pLogP): that of the outer algorithm for N nodes, and ⌈log_inner R⌉ (L + g(s)) within a node of R ranks.
Schedule build(const Problem& p) {
  const Levels levels(p, p.parameter("lanes"));
  const Partition parts(p.bytes, p.element_bytes, levels.lanes());
  Composition s(p);
  for (int lane = 0; lane < levels.lanes(); ++lane) {
    if (lane == 0 || parts.size(lane) > 0) add_lane(s, p, levels, lane, parts);
  }
  return s.take();
}

}  // namespace

extern const Algorithm reduce{
    .collective = Collective::reduce,
    .name = "nested",
    .summary = "within nodes, then among their leaders, segment by segment; several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .levels = true,
};

}  // namespace antiphon::reduce_by_nested
