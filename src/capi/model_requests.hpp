// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "json/json.hpp"
#include "json/node.hpp"

namespace antiphon {

/// {"text": a profile's JSON}: what the core reads in it, or the error that names the field.
Json read_profile_request(const JsonNode& request);

/// Every algorithm of a collective with its predicted time, for each of several sizes.
Json predict_request(const JsonNode& request);
/// The model's choice for a question.
Json choose_by_model_request(const JsonNode& request);
/// The papers' closed forms, evaluated.
Json closed_forms_request(const JsonNode& request);

}  // namespace antiphon
