// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "antiphon/problem.hpp"
#include "antiphon/schedule.hpp"

namespace antiphon {

/// The content of a plan file: the schedules of all ranks for one collective call, and what they were built for.
struct Plan {
  Collective collective = Collective::barrier;
  std::string algorithm;  ///< its name; parameters as resolved
  Parameters parameters;
  int size = 1;
  int root = 0;
  std::int64_t bytes = 0;
  std::int64_t element_bytes = 1;
  bool commutative = true;
  bool in_place = false;
  std::vector<Schedule> schedules;  ///< one per rank
  bool operator==(const Plan&) const = default;
};

/// One rank's schedule or a whole plan as JSON, in the form of docs/reference/plan-format.md.
std::string to_json(const Schedule& schedule);
std::string to_json(const Plan& plan);

/// Reads one rank's schedule or a whole plan. The text may come from anywhere: what does not fit the format, points
/// outside the document, overflows or exceeds the format's bounds throws a FormatError that names the field. The result
/// can be replayed, costed and drawn without further checks; before it is executed, its input and output ranges must be
/// compared with the caller's memory.
Schedule schedule_from_json(std::string_view json);
Plan plan_from_json(std::string_view json);

}  // namespace antiphon
