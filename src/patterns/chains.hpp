// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "antiphon/problem.hpp"

namespace antiphon {

/// A rank's neighbours on a chain that begins at the root; −1: there is none.
struct ChainPlace {
  int towards_root = -1;
  int away = -1;
};

/// Returns this rank's place on each of several chains of all ranks, of which no two take the same step: each carries a
/// part of the message, over connections of its own. As many as the parameter "chains" says, or as there are.
std::vector<ChainPlace> chains_of(const Problem& p);

}  // namespace antiphon
