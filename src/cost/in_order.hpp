// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "antiphon/cluster.hpp"
#include "antiphon/cost.hpp"

namespace antiphon {

/// Returns the call on the same ranks, numbered by their places along the nodes.
std::pair<PredictedCall, Cluster> in_order(const PredictedCall& call, const Cluster& cluster,
                                           const std::vector<int>& order);

}  // namespace antiphon
