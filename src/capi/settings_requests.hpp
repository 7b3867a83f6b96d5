// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "json/json.hpp"
#include "json/node.hpp"

namespace antiphon {

/// {"variables": [["ANTIPHON_FORCE", "…"], …]}: returns what is wrong with these settings, and the names of all
/// settings.
Json check_settings_request(const JsonNode& request);

/// {}: returns {"settings": [{"name": "ANTIPHON_FORCE", "values": "SPEC", "default": "", "meaning": "…", "page": "…"},
/// …]} with all settings, in the order of the table. A setting without a meaning is one of the tools' own.
Json settings_request(const JsonNode& request);

}  // namespace antiphon
