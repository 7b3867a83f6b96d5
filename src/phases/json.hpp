// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "antiphon/phases.hpp"
#include "schedule/json_node.hpp"

namespace antiphon {

/// The documents of phases.hpp as values, for answers that hold one.
nlohmann::ordered_json json_of(const Pattern& pattern);
nlohmann::ordered_json json_of(const Phases& phases);
nlohmann::ordered_json json_of(const CompiledPattern& compiled);

Pattern read_pattern(const JsonNode& node);
Fabric read_fabric(const JsonNode& node);
CompiledPlan read_compiled_plan(const JsonNode& document);

}  // namespace antiphon
