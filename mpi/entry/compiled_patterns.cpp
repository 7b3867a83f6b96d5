// SPDX-License-Identifier: Apache-2.0
#include "entry/compiled_patterns.hpp"

#include <algorithm>

#include "antiphon/ethernet.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

/// A communicator keeps this many scheduled patterns, because a program's step has only a few.
constexpr std::size_t most_recent = 8;

/// This numbers the nodes from 0, in the order of ranks.
Fabric fabric_of(const std::vector<int>& node_of_rank) {
  Fabric fabric;
  constexpr double payload_bytes_per_bit = ethernet::payload_share / 8;
  if (world.settings.link_bits_per_s > 0)
    fabric.link_bytes_per_s = payload_bytes_per_bit * static_cast<double>(world.settings.link_bits_per_s);
  if (world.settings.credit_bytes > 0) fabric.port_buffer_bytes = world.settings.credit_bytes / 2;
  std::vector<int> nodes;
  for (const int lowest : node_of_rank) {
    const auto found = std::find(nodes.begin(), nodes.end(), lowest);
    fabric.node_of_rank.push_back(static_cast<int>(found - nodes.begin()));
    if (found == nodes.end()) nodes.push_back(lowest);
  }
  return fabric;
}

/// Returns whose messages the phases carry.
Pattern pattern_of(const Phases& phases) {
  const auto ranks = static_cast<std::size_t>(phases.size);
  std::vector<std::int64_t> counts(ranks * ranks);
  for (const PhaseOfParts& phase : phases.phases) {
    for (const Part& part : phase.parts)
      counts[static_cast<std::size_t>(part.from) * ranks + static_cast<std::size_t>(part.to)] += part.bytes;
  }
  return Pattern::of_counts(phases.size, counts);
}

}  // namespace

CompiledPatterns::CompiledPatterns(const std::vector<int>& node_of_rank) : fabric_(fabric_of(node_of_rank)) {
  for (const CompiledPattern& one : world.plan.patterns) {
    if (static_cast<std::size_t>(one.phases.size) == node_of_rank.size())
      planned_.push_back({pattern_of(one.phases), &one});
  }
}

const CompiledPattern* CompiledPatterns::planned(const Pattern& pattern) const {
  const auto found =
      std::find_if(planned_.begin(), planned_.end(), [&](const Planned& one) { return one.pattern == pattern; });
  return found == planned_.end() ? nullptr : found->compiled;
}

const CompiledPattern& CompiledPatterns::of(const Pattern& pattern) {
  const auto found =
      std::find_if(recent_.begin(), recent_.end(), [&](const auto& one) { return one.first == pattern; });
  if (found == recent_.end()) {
    recent_.emplace_front(pattern, compile_pattern(pattern, fabric_));
    if (recent_.size() > most_recent) recent_.pop_back();
  } else if (found != recent_.begin()) {
    auto one = std::move(*found);
    recent_.erase(found);
    recent_.push_front(std::move(one));
  }
  return recent_.front().second;
}

}  // namespace antiphon::mpi
