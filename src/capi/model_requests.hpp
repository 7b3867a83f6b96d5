// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "antiphon/select.hpp"
#include "json/json.hpp"
#include "json/node.hpp"

namespace antiphon {

/// {"text": a profile's JSON}: returns what the core reads in it, or the error that names the field.
Json read_profile_request(const JsonNode& request);

/// Returns the table of usual hosts.
Json hosts_request(const JsonNode& request);
/// Returns every algorithm of a collective with its predicted time, for each of several sizes.
Json predict_request(const JsonNode& request);
/// Returns the time that an MPI library's own collective takes for each of several sizes, and its algorithms; null
/// where nothing is known of it.
Json predict_library_request(const JsonNode& request);
/// Returns the time of a plan's schedules, a text in the form of docs/reference/plan-format.md, and that of each rank.
Json evaluate_plan_request(const JsonNode& request);
/// Returns the choices that differ from one in a single parameter, where the call and the machine make that sensible.
Json variations_request(const JsonNode& request);
/// Returns the model's choice for a question.
Json choose_by_model_request(const JsonNode& request);
/// Returns what a run would use: the rules' choice put to the model of the request's profile, or of a guessed machine.
Choice choose_as_run(const JsonNode& request, const Question& question, const Rules& rules);
/// Evaluates the papers' closed forms.
Json closed_forms_request(const JsonNode& request);

}  // namespace antiphon
