// SPDX-License-Identifier: Apache-2.0
// The check of a process's environment against the table of all settings.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>

#include "antiphon/output_file.hpp"
#include "antiphon/settings.hpp"
#include "settings/table.hpp"

namespace antiphon {

namespace {

bool is_setting(std::string_view name) { return name == "ANTIPHON" || name.starts_with("ANTIPHON_"); }

bool is_whole_number(std::string_view text, std::int64_t max) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0 && value <= max;
}

bool is_share(const std::string& text) {
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0 && value < 1;
}

bool is_one_of(std::string_view word, std::string_view words) {
  while (!words.empty()) {
    const std::size_t comma = std::min(words.find(", "), words.size());
    if (words.substr(0, comma) == word) return true;
    words.remove_prefix(std::min(comma + 2, words.size()));
  }
  return false;
}

/// Returns why a file, or files in a folder that is made when it is missing, cannot be written.
std::string wrong_output(Takes takes, const std::string& path) {
  std::error_code why_not;
  const bool is_there = takes == Takes::folder && std::filesystem::is_directory(path, why_not);
  const std::string why = why_not_writable(is_there ? path + "/rank-0.msgs" : path);
  return why.empty() ? "" : "cannot be written: " + why;
}

/// Tells whether each part between colons is a path from the root, or empty.
bool is_list_of_folders(std::string_view text) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    if (begin != end && text[begin] != '/') return false;
    begin = end + 1;
  }
  return true;
}

std::string wrong_number(std::string_view text, std::int64_t max) {
  if (is_whole_number(text, max)) return "";
  return "is not a whole number" + (max < INT64_MAX ? " up to " + std::to_string(max) : "");
}

/// Returns what is wrong with a value, as "is not a whole number"; an empty text if nothing is.
std::string wrong(const Variable& variable, const std::string& value) {
  switch (variable.takes) {
    case Takes::whole_number: return wrong_number(value, variable.max);
    case Takes::share: return is_share(value) ? "" : "is not a share from 0 to 1";
    case Takes::word: return is_one_of(value, variable.words) ? "" : "is none of " + std::string(variable.words);
    case Takes::file: return access(value.c_str(), R_OK) == 0 ? "" : "cannot be read";
    case Takes::folders:
      return is_one_of(value, variable.words) || is_list_of_folders(value) ? "" : "is neither off nor a list of paths";
    case Takes::output:
    case Takes::folder: return is_one_of(value, variable.words) ? "" : wrong_output(variable.takes, value);
    case Takes::text: break;
  }
  return "";
}

/// Returns how many letters must be inserted, removed or replaced to make one word of the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string_view nearest(std::string_view name) {
  const auto variables = all_variables();
  return std::min_element(variables.begin(), variables.end(),
                          [name](const Variable& a, const Variable& b) {
                            return edit_distance(name, a.name) < edit_distance(name, b.name);
                          })
      ->name;
}

}  // namespace

std::vector<std::string_view> setting_names() {
  std::vector<std::string_view> names;
  for (const Variable& variable : all_variables()) names.push_back(variable.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<SettingProblem> check_variables(const Environment& environment) {
  const auto variables = all_variables();
  std::vector<SettingProblem> problems;
  for (const auto& entry : environment) {
    const auto& [name, value] = entry;
    if (!is_setting(name)) continue;
    const auto known =
        std::find_if(variables.begin(), variables.end(), [&](const Variable& v) { return v.name == entry.first; });
    if (known == variables.end()) {
      problems.push_back({name + " is not a setting of Antiphon",
                          "did you mean " + std::string(nearest(name)) + "? Unset what is not meant"});
      continue;
    }
    const std::string what = value.empty() ? "" : wrong(*known, value);
    if (!what.empty()) problems.push_back({name + "=" + value + " " + what, "correct it, or unset " + name});
  }
  return problems;
}

}  // namespace antiphon
