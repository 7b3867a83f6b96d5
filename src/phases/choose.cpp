// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "phases/ports.hpp"

namespace antiphon {

namespace {

/// Chooses the synchronisation with the shortest estimated time; of equals the simplest.
CompiledPattern with_best_synchronisation(Phases phases, const Fabric& fabric, const LowerBound& bound) {
  CompiledPattern best{std::move(phases)};
  for (int i = 0; i < synchronisation_count; ++i) {
    const auto synchronisation = static_cast<Synchronisation>(i);
    const auto expected_ns =
        static_cast<std::int64_t>(1e9 * phases_seconds(best.phases, fabric, synchronisation, best.cut, bound));
    if (i > 0 && expected_ns >= best.expected_ns) continue;
    best.synchronisation = synchronisation;
    best.expected_ns = expected_ns;
  }
  return best;
}

}  // namespace

std::vector<Candidate> schedule_all(const Pattern& pattern, const Fabric& fabric, const SchedulerOptions& options) {
  const std::int64_t small_bytes = options.small_bytes < 0 ? small_threshold(pattern, fabric) : options.small_bytes;
  const LowerBound bound = lower_bound(pattern, fabric);
  std::vector<Candidate> candidates;
  for (const Scheduler* scheduler : schedulers()) {
    if (scheduler->worth != nullptr && !scheduler->worth(pattern, fabric)) continue;
    Phases phases = scheduler->build(pattern, fabric, small_bytes);
    const std::size_t count = phases.phases.size();
    candidates.push_back({with_best_synchronisation(std::move(phases), fabric, bound), count});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    const std::int64_t first = a.compiled.expected_ns;
    const std::int64_t second = b.compiled.expected_ns;
    return first != second ? first < second : a.phase_count < b.phase_count;
  });
  return candidates;
}

CompiledPattern compile_pattern(const Pattern& pattern, const Fabric& fabric, const SchedulerOptions& options) {
  return std::move(schedule_all(pattern, fabric, options).front().compiled);
}

}  // namespace antiphon
