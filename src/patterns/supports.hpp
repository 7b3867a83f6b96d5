// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

#include "antiphon/problem.hpp"

namespace antiphon {

// What several algorithms ask of a problem (Algorithm::supports).

inline bool is_commutative(const Problem& p) { return p.commutative; }
inline bool is_power_of_two(const Problem& p) { return std::has_single_bit(static_cast<unsigned>(p.size)); }

}  // namespace antiphon
