// SPDX-License-Identifier: Apache-2.0
// The check of what settings say, before any rank starts.
#include "antiphon/error.hpp"
#include "antiphon/overrides.hpp"
#include "antiphon/run_plan.hpp"
#include "antiphon/select.hpp"
#include "antiphon/settings.hpp"
#include "antiphon/text.hpp"

namespace antiphon {

namespace {

std::string contents(const std::string& path) { return contents_of(path).value_or(""); }

/// A setting whose value has a language of its own: `read` throws an Error for what it cannot use.
struct Readable {
  const char* name;
  void (*read)(const std::string& value);
  const char* hint;
};

constexpr Readable readable[] = {
    {"ANTIPHON_FORCE", [](const std::string& value) { parse_force(value, ""); },
     "write 'alltoall:rotated:window=2;bcast:chain', or '*:on'; `antiphon bench --list` shows the algorithms"},
    {"ANTIPHON_PLAN", [](const std::string& value) { run_plan_from_json(contents(value)); },
     "`antiphon plan` writes plans, from a run or its trace"},
    {"ANTIPHON_PROFILE", [](const std::string& value) { Rules::of_profile(contents(value)); },
     "`antiphon tune` writes a profile's decisions anew"},
};

}  // namespace

std::vector<SettingProblem> check_settings(const Environment& variables) {
  std::vector<SettingProblem> problems = check_variables(variables);
  if (!problems.empty()) return problems;
  for (const Readable& setting : readable) {
    const auto given = variables.find(setting.name);
    if (given == variables.end() || given->second.empty()) continue;
    try {
      setting.read(given->second);
    } catch (const Error& error) {
      problems.push_back({std::string(setting.name) + "=" + given->second + ": " + error.what(), setting.hint});
    }
  }
  return problems;
}

}  // namespace antiphon
