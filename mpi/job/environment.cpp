// SPDX-License-Identifier: Apache-2.0
#include "job/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string_view>

#include "antiphon/text.hpp"

namespace antiphon::mpi {

namespace {

/// These are not for the preload objects, or not the same everywhere.
bool may_differ(const std::string& name) {
  constexpr std::array names{"ANTIPHON_LIB_DIR", "ANTIPHON_LAB_RUN", "ANTIPHON_ALL_RANKS", "ANTIPHON_SYSTEM_ROOT"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::set<std::string> lines_of(const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  return {lines.begin(), lines.end()};
}

}  // namespace

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void look_through_variables(const std::function<bool(std::string_view variable)>& take) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (take(*entry)) return;
  }
}

std::string name_of_variable(const std::function<bool(std::string_view variable)>& wanted) {
  std::string name;
  look_through_variables([&](std::string_view text) {
    if (!wanted(text)) return false;
    name = text.substr(0, text.find('='));
    return true;
  });
  return name;
}

bool is_switched_off() {
  const std::string mode = variable("ANTIPHON");
  return mode == "off" || mode == "0";
}

Environment own_variables() {
  Environment variables;
  look_through_variables([&](std::string_view text) {
    const std::size_t equals = std::min(text.find('='), text.size());
    if (text.starts_with("ANTIPHON"))
      variables.emplace(text.substr(0, equals), text.substr(std::min(equals + 1, text.size())));
    return false;
  });
  return variables;
}

std::string own_settings() {
  std::string text;
  for (const auto& [name, value] : own_variables()) {
    if (!may_differ(name)) text += name + "=" + value + "\n";
  }
  return text;
}

std::string first_difference(const std::string& own, const std::string& other) {
  const std::set<std::string> mine = lines_of(own);
  const std::set<std::string> theirs = lines_of(other);
  for (const std::string& line : mine) {
    if (theirs.count(line) == 0) return line;
  }
  for (const std::string& line : theirs) {
    if (mine.count(line) == 0) return "no " + line.substr(0, line.find('='));
  }
  return "";
}

}  // namespace antiphon::mpi
