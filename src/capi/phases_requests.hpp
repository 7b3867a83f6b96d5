// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "schedule/json_node.hpp"

namespace antiphon {

/// {"pattern": …, "fabric": …, "small_bytes": …, "only": scheduler}: every scheduler's phases, the best first, with
/// estimates.
nlohmann::ordered_json schedule_pattern(const JsonNode& request);
/// {"plan": a plan's text, "fabric": …}: each of its patterns with its bound, estimates and time line.
nlohmann::ordered_json describe_plan(const JsonNode& request);
/// {"patterns": [{"pattern": …, "calls": …}, …], "fabric": …, "small_bytes": …}: a plan's text.
nlohmann::ordered_json compile_patterns(const JsonNode& request);
/// Names and summaries of the schedulers.
nlohmann::ordered_json list_schedulers(const JsonNode& request);

}  // namespace antiphon
