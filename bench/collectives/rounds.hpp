// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "library.hpp"
#include "measure.hpp"
#include "statistics.hpp"

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

/// A contender and what is measured of it.
struct Entrant {
  std::string label;
  double estimate_s = 0;
  std::vector<double> samples;
  bool out = false;  ///< it cannot win
};

/// Who agrees on another round, and when there is none.
struct Pace {
  MPI_Comm comm = MPI_COMM_NULL;
  double budget_s = 0;
  bool race = false;  ///< it is over when one is left
};

/// Tells whether another round is to follow. Rank 0 decides, so that all ranks do the same.
template <typename Entrants>
bool another_round(const Entrants& entrants, int rounds, double elapsed_s, const Pace& pace) {
  int rank = 0, more = 1;
  PMPI_Comm_rank(pace.comm, &rank);
  if (rank == 0 && rounds >= (pace.race ? min_rounds - 1 : min_rounds)) {
    const auto known = [](const Entrant& e) { return e.out || median_is_known(e.samples, tolerance); };
    const auto left = std::count_if(entrants.begin(), entrants.end(), [](const Entrant& e) { return !e.out; });
    const bool enough = (pace.race && left < 2) || std::all_of(entrants.begin(), entrants.end(), known);
    more = !(rounds >= min_rounds_to_trust && enough) && round_fits(rounds, elapsed_s, pace.budget_s);
  }
  LIBRARY(PMPI_Bcast)(&more, 1, MPI_INT, 0, pace.comm);
  return more != 0;
}

}  // namespace bench
