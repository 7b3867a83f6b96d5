// SPDX-License-Identifier: Apache-2.0
// Whether an extrapolation from fewer ranks adds ranks or whole nodes.
#pragma once

#include "antiphon/cost.hpp"

namespace antiphon {

/// With fewer nodes than this, times say nothing of the network.
inline constexpr int fewest_nodes = 4;

/// Tells whether the answer must be there in milliseconds.
bool is_quick(const PredictionLimits& limits);

/// Returns a node's ranks where whole nodes are added, else 1. A quick answer adds whole nodes where the ranks that it
/// may start from would be on too few of them.
int whole_nodes(const Cluster& cluster, const PredictionLimits& limits);

}  // namespace antiphon
