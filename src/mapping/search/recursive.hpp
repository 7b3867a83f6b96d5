// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/random.hpp"
#include "mapping/search/domains.hpp"

namespace antiphon::mapping {

/// Dual recursive bipartitioning: halves the machine and the traffic together, level by level. Neighbours that are
/// already elsewhere pull towards the nearer half; with an earlier placement, they pull from where they are in it.
/// `near_share` is the expected cost between two ranks of the same half, relative to the average within it. It
/// anticipates how well the lower levels will do.
Model::Placement recursive_bisection(const Model& model, const Domains& domains, Random& random,
                                     float near_share = 0.95F, const Model::Placement* earlier = nullptr);

}  // namespace antiphon::mapping
