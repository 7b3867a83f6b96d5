// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/cost.hpp"

namespace antiphon {

/// As a benchmark times a collective: barrier, call, barrier, call, …; each call's time is the longest of any rank's
/// own, from the barrier's end on. Ranks leave a barrier one after the other, and what a port may send at once has
/// partly been used by the calls before: the median of as many calls as it takes to forget the beginning.
double evaluate_as_timed(std::span<const Schedule> schedules, const Machine& machine, const Barrier& barrier,
                         std::uint32_t order = 0);

}  // namespace antiphon
