// SPDX-License-Identifier: Apache-2.0
#include "entry/planned_ways.hpp"

#include "job/world.hpp"

namespace antiphon::mpi {

PlannedWays::PlannedWays(int rank, int size) {
  for (const CompiledPattern& pattern : world.plan.patterns) {
    if (pattern.phases.size != size) continue;
    advice_.emplace_back(pattern, rank);
    saves_ns_.push_back(pattern.saves_ns);
  }
}

Advice* PlannedWays::advice(const Problem& p) {
  if (empty()) return nullptr;
  Advice* const found = find(p);
  world.plan_use.count_pattern(found != nullptr && found->fits(p), saves_ns_[last_]);
  return found;
}

Advice* PlannedWays::find(const Problem& p) {
  for (std::size_t i = 0; i < advice_.size(); ++i) {
    const std::size_t at = (last_ + i) % advice_.size();
    if (advice_[at].fits(p)) return &advice_[last_ = at];
  }
  for (Advice& advice : advice_) {
    if (advice.nearly_fits(p)) return &advice;
  }
  return nullptr;
}

}  // namespace antiphon::mpi
