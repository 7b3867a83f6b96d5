// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace antiphon {

/// The text of rules.json, compiled in.
extern const char* const default_rules_json;

}  // namespace antiphon
