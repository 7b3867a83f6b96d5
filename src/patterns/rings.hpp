// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "antiphon/problem.hpp"
#include "patterns/ring.hpp"

namespace antiphon {

/// Several rings of all ranks, of which no two take the same step: each carries a part of every block, over connections
/// of its own. As many as the parameter "rings" says, or as there are.
std::vector<Ring> rings_of(const Problem& p);

/// Whether the ranks are few enough: a schedule grows with the rings and with the ranks.
inline bool few_enough_for_rings(const Problem& p) { return p.size <= 256; }

/// The text of that parameter.
inline constexpr const char* rings_means = "parts of a block, each of which goes round a ring of its own";

}  // namespace antiphon
