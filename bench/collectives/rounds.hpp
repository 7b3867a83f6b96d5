// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "measure.hpp"

/// How long contenders take turns: until their medians are known or the budget is spent.
namespace bench {

constexpr int min_rounds = 3;
constexpr int min_rounds_to_trust = 5;
constexpr int max_rounds = 300;
constexpr double tolerance = 0.03;

/// Returns the calls in a contender's turn: enough to be informative, few enough for several rounds in the budget.
/// `round_s` is the time of one call of every contender.
inline int calls_in_turn(Mode mode, double round_s, double budget_s) {
  if (mode == Mode::burst) return 1;
  const double affordable = budget_s / (std::max(round_s, 1e-7) * min_rounds_to_trust);
  if (mode == Mode::sync) return static_cast<int>(std::clamp(affordable - 1, 2.0, 20.0));
  return static_cast<int>(std::clamp(affordable - 1, affordable < 4 ? 4.0 : 8.0, 24.0));
}

/// Tells whether another round fits the budget if it takes as long as those before.
inline bool round_fits(int rounds, double elapsed_s, double budget_s) {
  return rounds < max_rounds && elapsed_s * (rounds + 1) / rounds <= budget_s * 1.1;
}

}  // namespace bench
