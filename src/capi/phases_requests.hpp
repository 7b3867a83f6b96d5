// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "json/json.hpp"
#include "json/node.hpp"

namespace antiphon {

/// {"pattern": …, "fabric": …, "small_bytes": …, "only": scheduler}: every scheduler's phases, the best first, with
/// estimates.
Json schedule_pattern(const JsonNode& request);
/// {"plan": a plan's text, "fabric": …}: each of its patterns with its bound, estimates and time line.
Json describe_plan(const JsonNode& request);
/// {"patterns": [{"pattern": …, "calls": …}, …], "fabric": …, "small_bytes": …}: a plan's text.
Json compile_patterns(const JsonNode& request);
/// Names and summaries of the schedulers.
Json list_schedulers(const JsonNode& request);

}  // namespace antiphon
