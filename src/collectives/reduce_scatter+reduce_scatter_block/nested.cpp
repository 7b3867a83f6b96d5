// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "antiphon/algorithm.hpp"
#include "patterns/block_row.hpp"

namespace antiphon::reduce_scatter_by_nested {

namespace {

constexpr std::array<std::string_view, 4> among_nodes{"recursive_halving", "ring", "pairwise", "switch_rings"};

constexpr Parameter parameters[] = {
    {"outer", Role::mode, 0, 0, 3, "among nodes: 0 recursive_halving, 1 ring, 2 pairwise, 3 switch_rings"},
    {"inner", Role::fanout, 8, 1, 64, "children of a rank in the tree within a node"},
    {"lanes", Role::leaders, 1, 1, 16, "leaders of a node, each of which reduces the blocks of a part of the ranks"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 passes on whole messages"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to one rank"},
};

std::string_view outer(const Problem& p) { return among_nodes[static_cast<std::size_t>(p.parameter("outer"))]; }

bool supported(const Problem& p) {
  return p.commutative && has_levels(p) && supports_stage(p, Collective::reduce_scatter, outer(p));
}

/// Long vectors are reduced within a node in so many parts, so that the first leave while the last are reduced.
constexpr int most_parts = 8;

/// Reduces the vectors of a node's ranks, in the order in which a ring sends them, and returns where the leader has the
/// sums, by place.
std::vector<Range> reduce_in_node(Composition& s, const Problem& p, const Levels& levels,
                                  const std::vector<Range>& operands, const BlockRow& in_order) {
  const std::vector<int> node = levels.own().places();
  std::int64_t all_bytes = 0;
  for (const Range& block : operands) all_bytes += block.bytes;
  const Range sums = node.size() == 1 ? Range{Space::input, 0, all_bytes}
                     : levels.leads() ? s.scratch(all_bytes)
                                      : Range{};
  const auto reduce = [&](std::int64_t from, std::int64_t bytes) {
    const Range operand{Space::input, from, bytes};
    if (bytes > 0) {
      s.within_node({Collective::reduce, "kary", node, levels.leader_index(), operand, sums.sub(from, bytes)});
    }
  };
  const std::int64_t segment = p.parameter("segment_bytes");
  if (!in_order.direct() || segment == 0 || all_bytes <= segment) {
    reduce(0, all_bytes);
  } else {
    const int parts = std::min(levels.nodes(), most_parts);
    for (int i = parts; i > 0; --i) {
      const int part = (levels.own_node() * parts / levels.nodes() + i) % parts;
      const Range range = in_order.of({levels.node(part * levels.nodes() / parts).first,
                                       levels.node((part + 1) * levels.nodes() / parts - 1).last});
      reduce(range.offset_bytes, range.bytes);
    }
  }
  std::vector<Range> blocks;
  for (const Range& block : operands) blocks.push_back(sums.sub(block.offset_bytes, block.bytes));
  return blocks;
}

/// Returns where the leader of a lane has the sums of its lane's blocks, by place; those of other lanes are empty.
std::vector<Range> sums_of_lane(Composition& s, const Levels& levels, const BlockRow& in_order, int lane) {
  std::int64_t bytes = 0;
  for (int node = 0; node < levels.nodes(); ++node) bytes += in_order.bytes(levels.lane(node, lane));
  Range rest = levels.leads(lane) ? s.scratch(bytes) : Range{Space::scratch, 0, bytes};
  std::vector<Range> sums(static_cast<std::size_t>(levels.node(levels.nodes() - 1).last));
  for (int node = 0; node < levels.nodes(); ++node) {
    for (const int place : levels.lane(node, lane).places()) {
      const std::int64_t of_place = in_order.bytes({place, place + 1});
      sums[static_cast<std::size_t>(place)] = rest.sub(0, of_place);
      rest = rest.sub(of_place, rest.bytes - of_place);
    }
  }
  return sums;
}

/// Reduces the same for several lanes, with a reduction for each lane of each node, since no more lies together.
/// Returns where the leaders have the sums, by lane and place.
std::vector<std::vector<Range>> reduce_by_lane(Composition& s, const Levels& levels, const BlockRow& in_order) {
  const std::vector<int> node = levels.own().places();
  std::vector<std::vector<Range>> sums;
  for (int lane = 0; lane < levels.lanes(); ++lane) sums.push_back(sums_of_lane(s, levels, in_order, lane));
  for (int i = levels.nodes(); i > 0; --i) {
    const int other = (levels.own_node() + i) % levels.nodes();
    for (int lane = 0; lane < levels.lanes(); ++lane) {
      const Run run = levels.lane(other, lane);
      const Range operand = in_order.of(run);
      Range sum = sums[static_cast<std::size_t>(lane)][static_cast<std::size_t>(run.first)];
      sum.bytes = operand.bytes;
      if (operand.bytes > 0) s.within_node({Collective::reduce, "kary", node, levels.leader_index(lane), operand, sum});
    }
  }
  return sums;
}

/// The leaders of a lane reduce what their nodes have, and deal out what each is left with.
void reduce_among_leaders(Composition& s, const Problem& p, const Levels& levels, int lane, std::vector<Range> blocks) {
  const BlockRow sums(s, std::move(blocks), levels.leads(lane));
  if (levels.leads(lane)) sums.collect(s);
  const Run own = levels.lane(levels.own_node(), lane);
  const std::vector<int> leaders = levels.leaders(lane);
  const std::vector<int> members = own.places();
  const Range held = levels.leads(lane) ? s.scratch(sums.bytes(own)) : Range{};
  s.between_nodes({.collective = Collective::reduce_scatter,
                   .algorithm = outer(p),
                   .members = leaders,
                   .output = held,
                   .received = sums.by_node(levels, lane)});
  std::vector<Range> dealt;
  const std::int64_t first = sums.of(own).offset_bytes;
  for (const Range& block : sums.each(own)) dealt.push_back(held.sub(block.offset_bytes - first, block.bytes));
  s.within_node({.collective = Collective::scatterv,
                 .algorithm = "flat",
                 .members = members,
                 .root = levels.leader(levels.own_node(), lane) - own.first,
                 .output = p.whole_output(),
                 .sent = dealt});
}

/// Each node reduces to its leader, leaders reduce among themselves so that each is left with the blocks of its node,
/// and deal them out: the network carries one vector for each node instead of one for each rank. With several lanes, as
/// many ranks of a node do so with the blocks of a part of its ranks each, which shares out the node's reductions, too.
/// Cost (pLogP): that of the outer algorithm for N nodes with blocks of R m, ⌈log_inner R⌉ (L + g(P m)) before, of
/// which long blocks wait only for the first part, and (R−1) g(m) after. Needs an operation that commutes.
Schedule build(const Problem& p) {
  const Levels levels(p, p.parameter("lanes"));
  const bool several = levels.lanes() > 1;
  Composition s(p);
  const std::vector<Range> operands = input_blocks(p);
  const BlockRow in_order(s, operands, several);
  if (several) in_order.collect(s);
  auto sums = several ? reduce_by_lane(s, levels, in_order)
                      : std::vector<std::vector<Range>>{reduce_in_node(s, p, levels, operands, in_order)};
  for (int lane = 0; lane < levels.lanes(); ++lane)
    reduce_among_leaders(s, p, levels, lane, std::move(sums[static_cast<std::size_t>(lane)]));
  return s.take();
}

}  // namespace

extern const Algorithm reduce_scatter{
    .collective = Collective::reduce_scatter,
    .name = "nested",
    .summary = "within nodes, among their leaders, and each its own; several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .any_order = true,
    .levels = true,
};

extern const Algorithm reduce_scatter_block{
    .collective = Collective::reduce_scatter_block,
    .name = "nested",
    .summary = "within nodes, among their leaders, and each its own; several ranks a node",
    .parameters = parameters,
    .supports = supported,
    .build = build,
    .any_order = true,
    .levels = true,
};

}  // namespace antiphon::reduce_scatter_by_nested
