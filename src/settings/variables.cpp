// SPDX-License-Identifier: Apache-2.0
// The table of all settings, and the check of a process's environment against it.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <numeric>

#include "antiphon/output_file.hpp"
#include "antiphon/settings.hpp"

namespace antiphon {

namespace {

enum class Takes : std::uint8_t { text, whole_number, share, word, file, output, folder, folders };

struct Variable {
  std::string_view name;
  Takes takes = Takes::text;
  std::string_view words;  ///< for `word`: all that may be said, as "on, off"; for others: what is no file
  std::int64_t max = INT64_MAX;
};

/// The preload object reads these (mpi/job/settings.hpp says what each means), the tools and tests read the last five.
constexpr std::array variables{
    Variable{"ANTIPHON", Takes::word, "on, off, 1, 0"},
    Variable{"ANTIPHON_ADAPT", Takes::word, "off, run, keep, reductions, run,reductions, keep,reductions"},
    Variable{"ANTIPHON_ALL_RANKS", Takes::word, "0, 1"},
    Variable{"ANTIPHON_CAPTURE", Takes::folder},
    Variable{"ANTIPHON_CAPTURE_MBYTES", Takes::whole_number, "", INT32_MAX},
    Variable{"ANTIPHON_CODEC", Takes::word, "auto, spatial, lz4, zstd, dfcm"},
    Variable{"ANTIPHON_COMPRESS", Takes::word, "auto, on, off, force, 1, 0"},
    Variable{"ANTIPHON_COMPRESS_DAMAGE", Takes::whole_number},
    Variable{"ANTIPHON_COMPRESS_MEMORY_BYTES", Takes::whole_number},
    Variable{"ANTIPHON_COMPRESS_MIN_BYTES", Takes::whole_number},
    Variable{"ANTIPHON_CREDIT_BYTES", Takes::whole_number},
    Variable{"ANTIPHON_FINALIZE_SECONDS", Takes::whole_number, "", INT32_MAX},
    Variable{"ANTIPHON_FORCE"},
    Variable{"ANTIPHON_GPU", Takes::word, "auto, on, off"},
    Variable{"ANTIPHON_LINK_BITS_PER_S", Takes::whole_number},
    Variable{"ANTIPHON_LINK_BURST_BYTES", Takes::whole_number},
    Variable{"ANTIPHON_METRICS", Takes::output},
    Variable{"ANTIPHON_MODEL", Takes::word, "on, off"},
    Variable{"ANTIPHON_MULTICAST", Takes::word, "auto, off"},
    Variable{"ANTIPHON_MULTICAST_GROUPS", Takes::whole_number, "", INT32_MAX},
    Variable{"ANTIPHON_MULTICAST_INTERFACE"},
    Variable{"ANTIPHON_MULTICAST_KEEPER", Takes::word, "0, 1"},
    Variable{"ANTIPHON_MULTICAST_LOSS", Takes::share},
    Variable{"ANTIPHON_MULTICAST_SEED", Takes::whole_number},
    Variable{"ANTIPHON_MULTICAST_STRATEGY", Takes::word, "nack, ack"},
    Variable{"ANTIPHON_MULTICAST_TIMEOUT_MS", Takes::whole_number},
    Variable{"ANTIPHON_NODES"},
    Variable{"ANTIPHON_PLACEMENT"},
    Variable{"ANTIPHON_PLACEMENT_STRICT", Takes::word, "0, 1"},
    Variable{"ANTIPHON_PLAN", Takes::file},
    Variable{"ANTIPHON_PROFILE", Takes::file},
    Variable{"ANTIPHON_PROGRESS", Takes::word, "calls, thread"},
    Variable{"ANTIPHON_REORDER", Takes::word, "0, 1"},
    Variable{"ANTIPHON_SHARED_MEMORY", Takes::word, "on, copy, off"},
    Variable{"ANTIPHON_STORE", Takes::folders, "off"},
    Variable{"ANTIPHON_SUMMARY", Takes::output, "0, 1"},
    Variable{"ANTIPHON_SYSTEM_ROOT"},
    Variable{"ANTIPHON_TOPOLOGY"},
    Variable{"ANTIPHON_TRACE", Takes::output},
    Variable{"ANTIPHON_TRACE_BYTES", Takes::whole_number},
    Variable{"ANTIPHON_VERBOSE", Takes::whole_number, "", INT32_MAX},
    Variable{"ANTIPHON_YIELD", Takes::word, "0, 1"},
    Variable{"ANTIPHON_CONFORMANCE_RUN"},
    Variable{"ANTIPHON_LAB_RUN"},
    Variable{"ANTIPHON_LIB_DIR"},
    Variable{"ANTIPHON_SLOW"},
    Variable{"ANTIPHON_TEST_MAX_RANKS"},
};

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
  const bool is_there = takes == Takes::folder && std::filesystem::is_directory(path);
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

/// Returns what is wrong with a value, as "is not a whole number"; an empty text if nothing is.
std::string wrong(const Variable& variable, const std::string& value) {
  switch (variable.takes) {
    case Takes::whole_number: return is_whole_number(value, variable.max) ? "" : "is not a whole number";
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
  return std::min_element(variables.begin(), variables.end(),
                          [name](const Variable& a, const Variable& b) {
                            return edit_distance(name, a.name) < edit_distance(name, b.name);
                          })
      ->name;
}

}  // namespace

std::vector<std::string_view> setting_names() {
  std::vector<std::string_view> names;
  for (const Variable& variable : variables) names.push_back(variable.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<SettingProblem> check_variables(const Environment& environment) {
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
