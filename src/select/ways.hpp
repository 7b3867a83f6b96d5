// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "antiphon/algorithm.hpp"

namespace antiphon {

/// Pieces of messages that are tried.
inline constexpr std::array<std::int64_t, 4> piece_sizes{2048, 4096, 8192, 16384};

/// Lists the parameters with which an algorithm is a contender: the defaults, those that fill a port, shorter pieces of
/// what goes over uplinks, and of one that nests others, each of those that it may use among nodes.
std::vector<Parameters> ways_of(const Algorithm& algorithm, int lanes);

}  // namespace antiphon
