// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/random.hpp"
#include "mapping/search/domains.hpp"

namespace antiphon::mapping {

/// Exchanges ranks to lower the predicted time, which the busiest link and rank determine, not the sum of messages. The
/// objective sums a high power of every link's and rank's time: the longest count most, the others a little. Stops at
/// `until` (thread_seconds()) and returns the best placement seen.
Model::Placement search_links(const Model& model, const Domains& domains, Model::Placement placement, Random& random,
                              double until);

}  // namespace antiphon::mapping
