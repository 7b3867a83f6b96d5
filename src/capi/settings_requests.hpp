// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "json/json.hpp"
#include "json/node.hpp"

namespace antiphon {

/// {"variables": [["ANTIPHON_FORCE", "…"], …]}: returns what is wrong with these settings, and the names of all
/// settings.
Json check_settings_request(const JsonNode& request);

}  // namespace antiphon
