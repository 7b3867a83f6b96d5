// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/schedule_json.hpp"
#include "json/json.hpp"

namespace antiphon {

/// These are the documents of schedule_json.hpp as values, for answers that hold one.
Json json_of(const Plan& plan);
Json json_of(const Schedule& schedule);

}  // namespace antiphon
