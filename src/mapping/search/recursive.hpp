// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/search/domains.hpp"
#include "mapping/search/random.hpp"

namespace antiphon::mapping {

/// Dual recursive bipartitioning: the machine's halves and those of the traffic together, level by level; neighbours that are
/// already elsewhere pull towards the nearer half. With an earlier placement, they pull from where they are there.
Model::Placement recursive_bisection(const Model& model, const Domains& domains, Random& random, const Model::Placement* earlier = nullptr);

}  // namespace antiphon::mapping
