// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/search/domains.hpp"
#include "mapping/search/random.hpp"

namespace antiphon::mapping {

/// Exchanges of ranks that lower the predicted time: the busiest link and the busiest rank, not the sum of all
/// messages. What every link and rank takes enters with a high power, so that the longest ones count most and the
/// others still a little. Until `until` (thread_seconds()); the placement with the least of that sum that was seen.
Model::Placement search_links(const Model& model, const Domains& domains, Model::Placement placement, Random& random,
                              double until);

}  // namespace antiphon::mapping
