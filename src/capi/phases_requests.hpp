// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "json/json.hpp"
#include "json/node.hpp"

namespace antiphon {

/// {"pattern": …, "fabric": …, "small_bytes": …, "only": scheduler}: returns every scheduler's phases with estimates,
/// the best first.
Json schedule_pattern(const JsonNode& request);
/// {"plan": a plan's text, "fabric": …}: returns each of its patterns with its bound, estimates and time line, and with
/// "schedules": true its call as a plan of all ranks' schedules.
Json describe_plan(const JsonNode& request);
/// {"patterns": [{"pattern": …, "calls": …}, …], "fabric": …, "small_bytes": …}: returns a plan's text.
Json compile_patterns(const JsonNode& request);
/// Returns the names and summaries of the schedulers.
Json list_schedulers(const JsonNode& request);

}  // namespace antiphon
