// SPDX-License-Identifier: Apache-2.0
// One plan for a program: where its ranks go, which algorithms its communicators use, the phases of its patterns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "antiphon/phases.hpp"

namespace antiphon {

/// The content of a plan file of `antiphon plan` (docs/reference/plan-format.md). An older one, of `antiphon compile`,
/// has patterns alone.
struct RunPlan {
  int ranks = 0;  ///< the recorded run's; 0: any
  int nodes = 0;  ///< of its placement, or of the recorded run; 0: any
  std::vector<CompiledPattern> patterns;
  std::string decisions;         ///< a document that Rules reads; empty: none
  std::vector<int> placed;       ///< the node of each rank, by number; empty: the plan does not place ranks
  double placement_saves_s = 0;  ///< in a run like the recorded one, by the model
};

/// Throws FormatError that names the field.
RunPlan run_plan_from_json(std::string_view json);

}  // namespace antiphon
