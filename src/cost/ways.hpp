// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "antiphon/algorithm.hpp"
#include "antiphon/cost.hpp"

namespace antiphon {

/// Pieces of messages that are tried.
inline constexpr std::array<std::int64_t, 4> piece_sizes{2048, 4096, 8192, 16384};
inline constexpr std::array<std::int64_t, 3> longer_pieces{65536, 131072, 262144};
/// Of a node's ranks, so many are tried as leaders where several are better than one.
inline constexpr std::int64_t most_leaders = 16;

/// Lists the parameters with which an algorithm is a contender: the defaults, those that fill a port, shorter pieces of
/// what goes over uplinks, and of one that nests others, each of those that it may use among nodes. None has more under
/// way than the network was seen to hold.
std::vector<Parameters> ways_of(const Algorithm& algorithm, const PredictedCall& call, const Cluster& cluster);

/// Returns the parameters with so many leaders of a node. Where these would have too much under way together, each has
/// fewer pieces ahead. Returns nothing where the algorithm has no leaders, or nodes have fewer ranks.
std::optional<Parameters> with_leaders(const Algorithm& algorithm, Parameters parameters, std::int64_t leaders,
                                       const PredictedCall& call, const Cluster& cluster);

/// Lists those with which some ranks of a node send to other nodes.
std::vector<Parameters> ways_by_leaders(const Algorithm& algorithm, const PredictedCall& call, const Cluster& cluster);

}  // namespace antiphon
