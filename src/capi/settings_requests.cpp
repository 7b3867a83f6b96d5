// SPDX-License-Identifier: Apache-2.0
#include "capi/settings_requests.hpp"

#include "antiphon/settings.hpp"

namespace antiphon {

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

}  // namespace antiphon
