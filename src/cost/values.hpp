// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "antiphon/cost.hpp"

namespace antiphon {

/// Pieces shorter than this are mostly headers.
inline constexpr std::int64_t least_piece_bytes = 1024;

/// Where rounds are on several connections at once, so many of them keep each busy.
inline constexpr int ahead_on_lanes = 4;

/// Returns which part of a node's port one connection was measured to fill each way; 1 where nothing is known of it.
double measured_port_share(const Cluster& cluster);
/// Returns how many connections of each of its ranks that send to others fill a node's port: 1 where one does.
int lanes_of(Collective collective, const Cluster& cluster);

/// Returns the place of the algorithm's parameter for this role; nothing where it has none. No algorithm has two for
/// `piece`, `at_once` or `leaders`.
std::optional<std::size_t> parameter_for(Role role, const Algorithm& algorithm);

/// Returns how many ranks of each node send to others at the same time, as the parameters and the smallest node say.
int leaders_of(const Algorithm& algorithm, const Parameters& parameters, const PredictedCall& call);

/// Returns the collective's algorithms, without those for several connections where one fills a port.
std::vector<const Algorithm*> algorithms_on(const Cluster& cluster, Collective collective);

/// Returns the concurrency that was measured, or nullptr where it says nothing of this call: `probe` judges messages of
/// 16 KiB and more, since the latencies of short ones overlap anyway.
inline const Concurrency* measured_concurrency(const PredictedCall& call, const Cluster& cluster) {
  constexpr std::int64_t least_bytes = 16384;
  const Concurrency& measured = cluster.profile().concurrency;
  return measured.known() && call.bytes >= least_bytes ? &measured : nullptr;
}

}  // namespace antiphon
