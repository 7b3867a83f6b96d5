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

PlannedWays::Found PlannedWays::find(const Problem& p, bool nearly) {
  const auto found = [&](std::size_t at) { return Found{&advice_[at], saves_ns_[at]}; };
  for (std::size_t i = 0; i < advice_.size(); ++i) {
    const std::size_t at = (last_ + i) % advice_.size();
    if (advice_[at].fits(p)) return found(last_ = at);
  }
  for (std::size_t at = 0; nearly && at < advice_.size(); ++at) {
    if (advice_[at].nearly_fits(p)) return found(at);
  }
  return {};
}

}  // namespace antiphon::mpi
