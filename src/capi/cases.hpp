// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/schedule_json.hpp"
#include "antiphon/verify.hpp"
#include "json/node.hpp"

namespace antiphon {

/// The schedules of more ranks are too many for one answer.
inline constexpr int most_listed_ranks = 4096;

Collective read_collective(const JsonNode& request);

/// Reads what a choice may depend on.
struct Question read_question(const JsonNode& request);

/// The call that a request names, and the algorithm for it; its parameters are in the case.
struct AlgorithmCase {
  const Algorithm* algorithm = nullptr;
  Case call;
};
AlgorithmCase read_case(const JsonNode& request);
/// Returns the request's "switch_sizes" (Problem::switch_sizes); empty without.
std::vector<int> read_switch_sizes(const JsonNode& request, int ranks);

/// Builds every rank's schedule. With seed 0 all blocks of an irregular collective have `bytes` bytes. Throws
/// InvalidArgument if the algorithm does not support the call.
std::vector<Schedule> schedules_of(const AlgorithmCase& c);
/// Builds the schedule of one rank.
Schedule schedule_of(const AlgorithmCase& c, int rank);
Plan plan_of(const AlgorithmCase& c, std::vector<Schedule> schedules);

}  // namespace antiphon
