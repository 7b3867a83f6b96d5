// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/problem.hpp"
#include "patterns/tree.hpp"

namespace antiphon {

/// A rank's places in the k-nomial trees up to rank 0 and down again. Where messages are longer one way than the other, that way fewer of them should meet
/// at one rank, whose port they all have to pass. Parameters radix and down_radix (0: as radix).
inline Tree tree_up(const Problem& p, int rank) { return knomial_tree(rank, p.size, static_cast<int>(p.parameter("radix"))); }
inline Tree tree_down(const Problem& p, int rank) {
  const auto radix = static_cast<int>(p.parameter("down_radix"));
  return radix < 2 ? tree_up(p, rank) : knomial_tree(rank, p.size, radix);
}

}  // namespace antiphon
