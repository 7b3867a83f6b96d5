// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "antiphon/algorithm.hpp"
#include "patterns/block_row.hpp"

namespace antiphon::allgather_by_nested {

namespace {

constexpr std::array<std::string_view, 3> among_nodes{"bruck", "ring", "switch_rings"};

constexpr Parameter parameters[] = {
    {"outer", Role::mode, 0, 0, 2, "among nodes: 0 bruck, 1 ring, 2 switch_rings"},
    {"inner", Role::fanout, 8, 1, 64, "children of a rank in the tree within a node"},
    {"lanes", Role::leaders, 1, 1, 16, "leaders of a node, each of which passes on the blocks of a part of the ranks"},
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment; 0 passes on whole messages"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to one rank"},
};

std::string_view outer(const Problem& p) { return among_nodes[static_cast<std::size_t>(p.parameter("outer"))]; }

bool supported(const Problem& p) { return has_levels(p) && supports_stage(p, Collective::allgatherv, outer(p)); }

/// Long results are told within a node in so many parts, so that the first are on their way while the last come in.
constexpr int most_parts = 8;

/// The leaders of a node tell its ranks all blocks: at once if they are one segment, else those of some nodes at a
/// time. Those of several lanes lie together for one node alone.
void tell_node(Composition& s, const Problem& p, const Levels& levels, const BlockRow& all) {
  const std::vector<int> node = levels.own().places();
  const std::int64_t segment = p.parameter("segment_bytes");
  const bool is_long = segment > 0 && all.bytes({0, p.size}) > segment;
  int parts = is_long ? std::min(levels.nodes(), most_parts) : 1;
  if (levels.lanes() > 1) parts = levels.nodes();
  // A ring brings the blocks of the nodes before this one first.
  for (int i = parts; i > 0; --i) {
    const int part = (levels.own_node() * parts / levels.nodes() + i) % parts;
    for (int lane = 0; lane < levels.lanes(); ++lane) {
      const Run places{levels.lane(part * levels.nodes() / parts, lane).first,
                       levels.lane((part + 1) * levels.nodes() / parts - 1, lane).last};
      const Range range = all.of(places);
      if (range.bytes > 0) s.within_node({Collective::bcast, "kary", node, levels.leader_index(lane), range, range});
    }
  }
}

/// Each node's blocks are brought together by its leader, the leaders gather all blocks, and tell the ranks of their
/// node: the network carries each block once to each node instead of once to each rank's neighbour, in as many steps as
/// for N ranks. With several lanes, as many ranks of a node do so with the blocks of a part of its ranks each, where
/// one is not enough to fill the port. Cost (pLogP): that of the outer algorithm for N nodes with blocks of R m, (R−1)
/// g(m) before, and ⌈log_inner R⌉ (L + g(all blocks)) after, of which long blocks wait only for the last part.
Schedule build(const Problem& p) {
  const Levels levels(p, p.parameter("lanes"));
  Composition s(p);
  const BlockRow all(s, output_blocks(p));
  for (int lane = 0; lane < levels.lanes(); ++lane) {
    const Run own = levels.lane(levels.own_node(), lane);
    const std::vector<int> members = own.places();
    s.within_node({.collective = Collective::gatherv,
                   .algorithm = "flat",
                   .members = members,
                   .root = levels.leader(levels.own_node(), lane) - own.first,
                   .input = p.whole_input(),
                   .received = all.each(own)});
  }
  for (int lane = 0; lane < levels.lanes(); ++lane) {
    const std::vector<int> leaders = levels.leaders(lane);
    s.between_nodes({.collective = Collective::allgatherv,
                     .algorithm = outer(p),
                     .members = leaders,
                     .input = all.of(levels.lane(levels.own_node(), lane)),
                     .received = all.by_node(levels, lane)});
  }
  tell_node(s, p, levels, all);
  all.spread(s);
  return s.take();
}

}  // namespace

extern const Algorithm allgather{
    .collective = Collective::allgather,
    .name = "nested",
    .summary = "a node's blocks travel together, among the nodes' leaders, then to all its ranks; several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .any_order = true,
    .levels = true,
};

extern const Algorithm allgatherv{
    .collective = Collective::allgatherv,
    .name = "nested",
    .summary = "a node's blocks travel together, among the nodes' leaders, then to all its ranks; several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .any_order = true,
    .levels = true,
};

}  // namespace antiphon::allgather_by_nested
