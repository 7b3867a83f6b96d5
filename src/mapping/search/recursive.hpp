// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/search/domains.hpp"
#include "mapping/search/random.hpp"

namespace antiphon::mapping {

/// Dual recursive bipartitioning: the machine's halves and those of the traffic together, level by level; neighbours
/// that are already elsewhere pull towards the nearer half. With an earlier placement, they pull from where they are
/// there. `near_share`: what two ranks of the same half are expected to cost, as a part of the average within it; how
/// well the rest will be done decides what is best.
Model::Placement recursive_bisection(const Model& model, const Domains& domains, Random& random,
                                     float near_share = 0.95F, const Model::Placement* earlier = nullptr);

}  // namespace antiphon::mapping
