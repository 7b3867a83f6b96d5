// SPDX-License-Identifier: Apache-2.0
#include "phases/first_fit.hpp"

namespace antiphon::scheduler_greedy {

namespace {

/// Paper 1, §4.2: sort by falling size; fill a phase with each message in turn that does not conflict with it; then
/// fill the next one. When all that is left is smaller than the threshold, it goes into one last phase. This balances
/// the load within a phase, but may need more phases than there are messages into or out of any node.
///
/// A message lands in the first phase in which both its ports are free of earlier ones, so that one pass over the
/// sorted list does what the paper does in one pass per phase. O(messages · phases/64).
Phases build(const Pattern& pattern, const Fabric& fabric, std::int64_t small_bytes) {
  FirstFit fit(pattern, fabric, false);
  const std::vector<PatternMessage> sorted = largest_first(pattern);
  std::size_t i = 0;
  for (; i < sorted.size() && sorted[i].bytes >= small_bytes; ++i) fit.place(sorted[i], fit.no_limit);
  const std::size_t phases = fit.phase_count();
  std::vector<PatternMessage> left;
  for (; i < sorted.size(); ++i) {
    if (!fit.place(sorted[i], phases)) left.push_back(sorted[i]);
  }
  return fit.finish("greedy", left);
}

}  // namespace

extern const Scheduler scheduler{
    .name = "greedy",
    .summary = "largest first into the first phase without conflict (paper 1)",
    .build = build,
};

}  // namespace antiphon::scheduler_greedy
