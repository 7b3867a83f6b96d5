// SPDX-License-Identifier: Apache-2.0
// Every setting that there is: its name, what it takes and what it means.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace antiphon {

/// Says what the value of a variable is.
enum class Takes : std::uint8_t { text, whole_number, share, word, file, output, folder, folders };

/// Describes one environment variable.
struct Variable {
  std::string_view name;
  Takes takes = Takes::text;
  std::string_view words;  ///< for `word`: all that may be said, as "on, off"; for others: what is no file
  std::string_view form;   ///< for `text`: how a value looks
  std::int64_t max = INT64_MAX;
  std::string_view initial;    ///< what holds where it is not set; empty: nothing, or what is found
  std::string_view meaning{};  ///< in Markdown; empty: the tools and tests alone set it
  std::string_view page{};     ///< of the documentation, which says more
};

/// Returns all variables, sorted by name but for those of the tools, which come last.
std::span<const Variable> all_variables();

}  // namespace antiphon
