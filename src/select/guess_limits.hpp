// SPDX-License-Identifier: Apache-2.0
// Of which calls a guessed profile knows too little to choose.
#pragma once

#include "antiphon/cluster.hpp"
#include "antiphon/select.hpp"

namespace antiphon {

/// Returns the length from which on a guess knows enough of a call.
std::int64_t least_bytes_to_guess(const Question& question);

/// Tells whether enough is known of messages within a node for an algorithm that nests stages.
bool knows_nested(std::int64_t bytes, const Cluster& cluster);

}  // namespace antiphon
