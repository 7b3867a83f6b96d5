// SPDX-License-Identifier: Apache-2.0
#include "phases/ports.hpp"

#include <algorithm>

#include "antiphon/error.hpp"

namespace antiphon {

Ports::Ports(const Fabric& fabric, int ranks) : fabric_(fabric) {
  if (!fabric.node_of_rank.empty() && fabric.node_of_rank.size() < static_cast<std::size_t>(ranks)) {
    throw InvalidArgument("the fabric names the nodes of " + std::to_string(fabric.node_of_rank.size()) +
                          " ranks, the pattern has " + std::to_string(ranks));
  }
  if (fabric.link_bytes_per_s <= 0) throw InvalidArgument("the fabric's links have no rate");
  for (int rank = 0; rank < ranks; ++rank) {
    if (fabric.node(rank) < 0) throw InvalidArgument("rank " + std::to_string(rank) + " is on a negative node");
    nodes_ = std::max(nodes_, fabric.node(rank) + 1);
  }
  if (!fabric.switch_of_node.empty()) {
    if (fabric.switch_of_node.size() < static_cast<std::size_t>(nodes_)) {
      throw InvalidArgument("the fabric names the switches of " + std::to_string(fabric.switch_of_node.size()) +
                            " of " + std::to_string(nodes_) + " nodes");
    }
    for (const int s : fabric.switch_of_node) {
      if (s < 0) throw InvalidArgument("a node is on a negative switch");
      switches_ = std::max(switches_, s + 1);
    }
  }
  if (switches_ > 1 && fabric.uplink_bytes_per_s > 0) {
    uplink_messages_ = std::max(1, static_cast<int>(fabric.uplink_bytes_per_s / fabric.link_bytes_per_s + 0.05));
  }
}

Ports::Use Ports::of(int from, int to) const {
  const int source = fabric_.node(from);
  const int target = fabric_.node(to);
  if (source == target) return {};
  Use use{source, target};
  if (uplink_messages_ > 0 && fabric_.switch_of(source) != fabric_.switch_of(target)) {
    use.up = fabric_.switch_of(source);
    use.down = fabric_.switch_of(target);
  }
  return use;
}

Loads::Loads(const Ports& ports, const Pattern& pattern)
    : out(static_cast<std::size_t>(ports.nodes())), in(out.size()), up(static_cast<std::size_t>(ports.switches())),
      down(up.size()) {
  const auto add = [](std::vector<std::int64_t>& loads, int index, std::int64_t bytes) {
    if (index >= 0) loads[static_cast<std::size_t>(index)] += bytes;
  };
  for (const PatternMessage& m : pattern.messages) {
    const Ports::Use use = ports.of(m.from, m.to);
    add(out, use.out, m.bytes);
    add(in, use.in, m.bytes);
    add(up, use.up, m.bytes);
    add(down, use.down, m.bytes);
  }
}

std::int64_t Loads::most_node_bytes() const {
  std::int64_t most = 0;
  for (const auto* loads : {&out, &in}) {
    for (const std::int64_t bytes : *loads) most = std::max(most, bytes);
  }
  return most;
}

std::int64_t Loads::most_uplink_bytes() const {
  std::int64_t most = 0;
  for (const auto* loads : {&up, &down}) {
    for (const std::int64_t bytes : *loads) most = std::max(most, bytes);
  }
  return most;
}

std::vector<PatternMessage> largest_first(const Pattern& pattern) {
  std::vector<PatternMessage> sorted = pattern.messages;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return sorted;
}

PhaseOfParts split_off_small(const Pattern& pattern, const Ports& ports, std::int64_t small_bytes,
                             std::vector<PatternMessage>& long_ones) {
  PhaseOfParts small{{}, true};
  for (const PatternMessage& m : pattern.messages) {
    if (m.bytes < small_bytes || ports.local(m.from, m.to)) {
      small.parts.push_back({m.from, m.to, 0, m.bytes});
    } else {
      long_ones.push_back(m);
    }
  }
  return small;
}

LowerBound lower_bound(const Pattern& pattern, const Fabric& fabric) {
  const Ports ports(fabric, pattern.size);
  const Loads loads(ports, pattern);
  LowerBound bound{loads.most_node_bytes(), loads.most_uplink_bytes(), 0};
  bound.seconds = std::max(static_cast<double>(bound.node_bytes) * ports.seconds_per_byte(),
                           static_cast<double>(bound.uplink_bytes) * ports.uplink_seconds_per_byte());
  return bound;
}

std::int64_t small_threshold(const Pattern& pattern, const Fabric& fabric) {
  // Goes through the sizes from the smallest, as long as all messages up to that size fit into every port at the same
  // time.
  constexpr std::int64_t most = 8192;
  const Ports ports(fabric, pattern.size);
  std::vector<PatternMessage> sorted = largest_first(pattern);
  std::vector<std::int64_t> in(static_cast<std::size_t>(ports.nodes()));
  std::int64_t threshold = 1;
  while (!sorted.empty()) {
    const std::int64_t bytes = sorted.back().bytes;
    if (bytes > most) break;
    bool fits = true;
    for (; !sorted.empty() && sorted.back().bytes == bytes; sorted.pop_back()) {
      const int target = ports.of(sorted.back().from, sorted.back().to).in;
      if (target >= 0) fits &= (in[static_cast<std::size_t>(target)] += bytes) <= fabric.port_buffer_bytes;
    }
    if (!fits) break;
    threshold = bytes + 1;
  }
  return threshold;
}

}  // namespace antiphon
