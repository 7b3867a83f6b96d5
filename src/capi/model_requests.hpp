// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "schedule/json_node.hpp"

namespace antiphon {

/// {"text": a profile's JSON}: what the core reads in it, or the error that names the field.
nlohmann::ordered_json read_profile_request(const JsonNode& request);

}  // namespace antiphon
