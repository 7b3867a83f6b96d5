// SPDX-License-Identifier: Apache-2.0
#include "capi/settings_requests.hpp"

#include "antiphon/settings.hpp"
#include "settings/table.hpp"

namespace antiphon {

namespace {

/// Returns how a variable's value looks, as "FILE" or "on, off".
std::string values(const Variable& variable) {
  const std::string or_words = variable.words.empty() ? "" : ", " + std::string(variable.words);
  switch (variable.takes) {
    case Takes::text: return std::string(variable.form);
    case Takes::word: return std::string(variable.words);
    case Takes::whole_number: return "N";
    case Takes::share: return "0 … 1";
    case Takes::file:
    case Takes::output: return "FILE" + or_words;
    case Takes::folder: return "DIR" + or_words;
    case Takes::folders: return "DIR[:DIR…]" + or_words;
  }
  return "";
}

}  // namespace

Json check_settings_request(const JsonNode& request) {
  Environment variables;
  const JsonNode pairs = request.at("variables");
  for (std::size_t i = 0; i < pairs.array_size(); ++i) {
    const JsonNode pair = pairs.element(i);
    variables.emplace(pair.element(0).text(), pair.element(1).text());
  }
  Json problems = Json::array();
  for (const SettingProblem& p : check_settings(variables)) problems.push_back({{"what", p.what}, {"hint", p.hint}});
  Json names = Json::array();
  for (const std::string_view name : setting_names()) names.push_back(name);
  return {{"problems", problems}, {"names", names}};
}

Json settings_request(const JsonNode& /*request*/) {
  Json settings = Json::array();
  for (const Variable& v : all_variables()) {
    settings.push_back(
        {{"name", v.name}, {"values", values(v)}, {"default", v.initial}, {"meaning", v.meaning}, {"page", v.page}});
  }
  return {{"settings", settings}};
}

}  // namespace antiphon
