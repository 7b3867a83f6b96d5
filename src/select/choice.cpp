// SPDX-License-Identifier: Apache-2.0
// Reads and writes the text form of a choice: "library" or "ALGORITHM[:PARAMETER=VALUE,…]".
#include <charconv>

#include "antiphon/error.hpp"
#include "antiphon/select.hpp"

namespace antiphon {

namespace {

[[noreturn]] void fail_unknown_algorithm(Collective collective, std::string_view wanted) {
  std::string known = "library";
  for (const Algorithm* a : algorithms_for(collective)) known += ", " + std::string(a->name);
  throw InvalidArgument(std::string(name(collective)) + " has no algorithm \"" + std::string(wanted) +
                        "\" (there are: " + known + ")");
}

/// Reads a whole number, with k, m or g for powers of 1024.
std::int64_t parse_number(std::string_view text, std::string_view what) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  int shift = 0;
  if (end - rest == 1) {
    switch (*rest) {
      case 'k':
      case 'K': shift = 10; break;
      case 'm':
      case 'M': shift = 20; break;
      case 'g':
      case 'G': shift = 30; break;
      default: break;
    }
  }
  const bool well_formed = error == std::errc{} && (rest == end || shift > 0);
  if (!well_formed || value > (INT64_MAX >> shift) || value < (INT64_MIN >> shift)) {
    throw InvalidArgument(std::string(what) + ": \"" + std::string(text) +
                          "\" is not a whole number such as 16384 or 16k");
  }
  return value * (std::int64_t{1} << shift);
}

ParameterValue parse_parameter(const Algorithm& algorithm, std::string_view text) {
  const std::string whose = std::string(name(algorithm.collective)) + ":" + std::string(algorithm.name);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw InvalidArgument(whose + ": \"" + std::string(text) + "\" is not of the form PARAMETER=VALUE");
  }
  const std::string_view key = text.substr(0, equals);
  return {std::string(key), parse_number(text.substr(equals + 1), whose + ": " + std::string(key))};
}

}  // namespace

std::string Choice::to_string() const {
  if (algorithm == nullptr) return "library";
  std::string text(algorithm->name);
  char separator = ':';
  for (const ParameterValue& p : parameters) {
    text += separator + p.name + '=' + std::to_string(p.value);
    separator = ',';
  }
  return text;
}

Choice parse_choice(Collective collective, std::string_view text) {
  if (text == "library") return {};
  const std::size_t colon = text.find(':');
  Choice choice;
  choice.algorithm = find_algorithm(collective, text.substr(0, colon));
  if (choice.algorithm == nullptr) fail_unknown_algorithm(collective, text.substr(0, colon));
  Parameters given;
  std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    given.push_back(parse_parameter(*choice.algorithm, rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  choice.parameters = resolve_parameters(*choice.algorithm, given);
  return choice;
}

}  // namespace antiphon
