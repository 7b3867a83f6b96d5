// SPDX-License-Identifier: Apache-2.0
// What gathering counts costs, and how ranks lie on nodes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "antiphon/adapt.hpp"
#include "antiphon/phases.hpp"

namespace antiphon {

/// Gathering may take this share of the time of all calls; it happens at least once in `gather_every` calls.
inline constexpr double gathering_share = 0.005;
inline constexpr std::uint64_t gather_every = 128;

/// A pattern with fewer bytes is not scheduled: all ranks send at once, and scheduling takes longer than it saves.
inline constexpr std::int64_t least_scheduled_bytes = 1 << 20;

/// With so many ranks on a node, their short messages take their processors longer than the node's link (as in the
/// rules of alltoallv).
inline constexpr int many_ranks_on_a_node = 4;

inline int most_ranks_on_a_node(int size, const Fabric& fabric) {
  std::map<int, int> ranks;
  int most = 0;
  for (int rank = 0; rank < size; ++rank) most = std::max(most, ++ranks[fabric.node(rank)]);
  return most;
}

/// Returns how long it takes to bring together rows of so many numbers.
inline double gathering_seconds(int size, std::size_t row_length, const Fabric& fabric) {
  const double ranks = size;
  const double alone_s = 1e-9 * static_cast<double>(fabric.latency_ns) * log2_alike(ranks) +
                         8 * ranks * static_cast<double>(row_length) / fabric.link_bytes_per_s;
  return alone_s * most_ranks_on_a_node(size, fabric);  // a node's ranks share its link and its processors
}

/// Returns after how many calls, each of which takes so long, ranks spend so long on gathering again. `useful` says
/// that what was gathered decides something; else gathering only checks whether patterns have changed.
inline std::uint64_t calls_between(double call_s, double spent_s, std::uint64_t calls, bool useful) {
  const double affordable = spent_s / (gathering_share * std::max(call_s, 1e-9));
  // While a communicator is young, ranks gather again soon.
  const auto latest = std::min(gather_every, (useful ? 3 : 15) * calls);
  return affordable < static_cast<double>(latest) ? static_cast<std::uint64_t>(std::ceil(affordable)) : latest;
}

}  // namespace antiphon
