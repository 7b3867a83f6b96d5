// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "antiphon/error.hpp"
#include "antiphon/phases.hpp"

namespace antiphon::fuzz {

/// Reads patterns, phases and compiled plans. What is read must be written and read as the same value, and must give
/// schedules.
inline bool phases(std::string_view text) {
  try {
    const Pattern pattern = pattern_from_json(text);
    if (pattern_from_json(to_json(pattern)) != pattern) return false;
    if (pattern.size <= 64) (void)compile_pattern(pattern, {});
  } catch (const FormatError&) {
  }
  try {
    const Phases read = phases_from_json(text);
    if (phases_from_json(to_json(read)) != read) return false;
  } catch (const FormatError&) {
  }
  try {
    const CompiledPlan plan = compiled_plan_from_json(text);
    if (compiled_plan_from_json(to_json(plan)) != plan) return false;
    for (const CompiledPattern& compiled : plan.patterns) {
      if (compiled.phases.size > 64) continue;
      const Pattern pattern = compiled.phases.pattern();
      for (int rank = 0; rank < pattern.size; ++rank) (void)schedule_of(compiled, pattern.problem(rank));
    }
  } catch (const FormatError&) {
  }
  return true;
}

}  // namespace antiphon::fuzz
