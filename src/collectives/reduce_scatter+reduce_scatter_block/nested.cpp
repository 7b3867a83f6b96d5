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
std::vector<Range> reduce_in_node(Composition& s, const Problem& p, const Levels& levels) {
  const std::vector<int> node = levels.own().places();
  const std::vector<Range> operands = input_blocks(p);
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
  const BlockRow in_order(s, operands, false);
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

/// Each node reduces to its leader, leaders reduce among themselves so that each is left with the blocks of its node,
/// and deal them out: the network carries one vector for each node instead of one for each rank. Cost (pLogP): that of
/// the outer algorithm for N nodes with blocks of R m, ⌈log_inner R⌉ (L + g(P m)) before, of which long blocks wait
/// only for the first part, and (R−1) g(m) after. Needs an operation that commutes.
Schedule build(const Problem& p) {
  const Levels levels(p);
  const std::vector<int> leaders = levels.leaders();
  const std::vector<int> node = levels.own().places();
  Composition s(p);
  const BlockRow sums(s, reduce_in_node(s, p, levels), levels.leads());
  if (levels.leads()) sums.collect(s);
  const std::int64_t node_bytes = sums.bytes(levels.own());
  const Range held = levels.leads() ? s.scratch(node_bytes) : Range{};
  s.between_nodes({.collective = Collective::reduce_scatter,
                   .algorithm = outer(p),
                   .members = leaders,
                   .output = held,
                   .received = sums.by_node(levels)});
  std::vector<Range> own;
  const std::int64_t first = sums.of(levels.own()).offset_bytes;
  for (const Range& block : sums.each(levels.own())) own.push_back(held.sub(block.offset_bytes - first, block.bytes));
  s.within_node({.collective = Collective::scatterv,
                 .algorithm = "flat",
                 .members = node,
                 .root = levels.leader_index(),
                 .output = p.whole_output(),
                 .sent = own});
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
