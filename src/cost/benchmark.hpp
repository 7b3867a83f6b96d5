// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/cost.hpp"

namespace antiphon {

struct TimedCalls {
  double seconds = 0;       ///< of one call
  std::int64_t pieces = 0;  ///< of all calls and barriers
};

/// Predicts a call's time as a benchmark measures it: barrier, call, barrier, call, and so on. Each call takes as long
/// as its slowest rank needs from the end of that rank's own barrier. Ranks leave a barrier one after the other, and
/// earlier calls have used part of a port's burst. The result is the median over enough calls for the beginning not to
/// show, or over as many as can be evaluated.
TimedCalls evaluate_as_timed(std::span<const Schedule> schedules, const Cluster& cluster, const Barrier& barrier,
                             std::uint32_t order = 0);

}  // namespace antiphon
