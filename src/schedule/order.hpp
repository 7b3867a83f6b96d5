// SPDX-License-Identifier: Apache-2.0
// Builds schedules for ranks that stand in another order than their numbers', as along the nodes.
#pragma once

#include "antiphon/problem.hpp"

namespace antiphon {

/// Returns the problem of the same rank with places in place of ranks: rank and root are places, and block i is the one
/// of the rank at place i.
Problem in_places(const Problem& p);

/// Turns the places that a schedule's messages name into ranks.
Schedule with_ranks(const Schedule& places, const std::vector<int>& order);

}  // namespace antiphon
