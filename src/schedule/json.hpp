// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "antiphon/schedule_json.hpp"

namespace antiphon {

/// The documents of schedule_json.hpp as values, for answers that hold one.
nlohmann::ordered_json json_of(const Plan& plan);
nlohmann::ordered_json json_of(const Schedule& schedule);

}  // namespace antiphon
