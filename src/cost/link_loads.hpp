// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "antiphon/cluster.hpp"
#include "antiphon/schedule.hpp"

namespace antiphon {

/// Returns the seconds that the busiest ports and uplinks of a regular tree of switches need for a call's messages, if
/// all nodes send as much as far. It returns 0 where two nodes differ, on other networks, and with very many messages.
double busiest_link_s(const Cluster& cluster, const std::function<Schedule(int rank)>& build);

/// Returns the same for blocks of this length from each rank to each other, whatever their order and way.
double all_pairs_link_s(const Cluster& cluster, std::int64_t block_bytes);

/// Returns the seconds that a port needs for what one of these ranks, the busiest, sends to other nodes or gets from
/// them. Those behind a rank with more operations than these do not count, since they take long to build.
double port_s(const Cluster& cluster, const std::function<Schedule(int rank)>& build, std::span<const int> ranks,
              std::ptrdiff_t most_operations);

}  // namespace antiphon
