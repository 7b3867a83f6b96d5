// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "schedule/json_node.hpp"

namespace antiphon {

/// {"text": a profile's JSON}: what the core reads in it, or the error that names the field.
nlohmann::ordered_json read_profile_request(const JsonNode& request);

/// Every algorithm of a collective with its predicted time, for each of several sizes.
nlohmann::ordered_json predict_request(const JsonNode& request);
/// The model's choice for a question.
nlohmann::ordered_json choose_by_model_request(const JsonNode& request);
/// The papers' closed forms, evaluated.
nlohmann::ordered_json closed_forms_request(const JsonNode& request);
/// All messages of a call, with their times.
nlohmann::ordered_json evaluate_request(const JsonNode& request);

}  // namespace antiphon
