// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/phases.hpp"
#include "json/json.hpp"
#include "json/node.hpp"

namespace antiphon {

/// The documents of phases.hpp as values, for answers that hold one.
Json json_of(const Pattern& pattern);
Json json_of(const Phases& phases);
Json json_of(const CompiledPattern& compiled);

Pattern read_pattern(const JsonNode& node);
Fabric read_fabric(const JsonNode& node);
CompiledPlan read_compiled_plan(const JsonNode& document);
/// Reads a plan's list of patterns.
std::vector<CompiledPattern> read_compiled_patterns(const JsonNode& list);

}  // namespace antiphon
