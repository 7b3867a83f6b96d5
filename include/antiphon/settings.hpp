// SPDX-License-Identifier: Apache-2.0
// Checks the user's settings, which are environment variables whose names begin with ANTIPHON.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace antiphon {

using Environment = std::map<std::string, std::string, std::less<>>;

/// Says what is wrong with one setting.
struct SettingProblem {
  std::string what;  ///< "ANTIPHON_VERBOSE=loud is not a whole number"
  std::string hint;  ///< what to do about it
};

/// Returns the names of all settings that there are, sorted.
std::vector<std::string_view> setting_names();

/// Returns the settings among these variables that do not exist or whose values mean nothing, and files that cannot be
/// read. Other variables do not matter.
std::vector<SettingProblem> check_variables(const Environment& variables);

/// Does the same and also checks what the values and the files say: forced algorithms, a profile's decisions, a plan.
std::vector<SettingProblem> check_settings(const Environment& variables);

}  // namespace antiphon
