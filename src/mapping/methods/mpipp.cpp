// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "mapping/search/exchange.hpp"

namespace antiphon::mapping::methods_in {

namespace {

/// Ten random beginnings, the best result. With point-to-point traffic alone it is MPIPP, with decomposed collectives OPP.
Assignment place(const Task& task, const Budget& budget) {
  constexpr int beginnings = 10;
  const Model model(task);
  Random random(budget.seed);
  // It is not one that stops in time: the budget bounds what would take hours.
  const double until = thread_seconds() + std::max(60.0, budget.seconds);
  Model::Placement best;
  double least = 0;
  const double begin = thread_seconds();
  for (int n = 0; n < beginnings; ++n) {
    Model::Placement found = PairwiseExchange(model).run(random_placement(model, random), until);
    const double cost = model.total(found);
    if (best.empty() || cost < least) {
      least = cost;
      best = std::move(found);
    }
    // Where one takes longer than all should, one it is.
    if (thread_seconds() - begin > budget.seconds && thread_seconds() - begin > 1) break;
  }
  return model.assignment(best);
}

}  // namespace

extern const Method mpipp{"mpipp", "k-way pairwise exchange from random placements (MPIPP; with collectives in the traffic: OPP, paper 2)", nullptr, place};

}  // namespace antiphon::mapping::methods_in
