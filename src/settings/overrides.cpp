// SPDX-License-Identifier: Apache-2.0
#include "antiphon/overrides.hpp"

#include <algorithm>

#include "antiphon/error.hpp"

namespace antiphon {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

void set_override(Overrides& overrides, std::string_view item, const std::string& credit) {
  const auto colon = item.find(':');
  if (colon == std::string_view::npos) throw InvalidArgument("\"" + std::string(item) + "\" is not COLLECTIVE:CHOICE");
  const std::string_view which = item.substr(0, colon);
  const std::string_view what = item.substr(colon + 1);
  if (which != "*") {
    const auto collective = collective_from_name(which);
    if (!collective) throw InvalidArgument("there is no collective \"" + std::string(which) + "\"");
    overrides[static_cast<std::size_t>(*collective)] = parse_override(*collective, what, credit);
    return;
  }
  if (what != "on" && what != "library" && what != "auto") throw InvalidArgument("\"*\" takes on, library or auto");
  for (int c = 0; c < collective_count; ++c)
    overrides[static_cast<std::size_t>(c)] = parse_override(static_cast<Collective>(c), what, credit);
}

}  // namespace

Overrides parse_force(std::string_view text, const std::string& credit) {
  Overrides overrides;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    const std::string_view item = trimmed(text.substr(begin, end - begin));
    if (!item.empty()) set_override(overrides, item, credit);
    begin = end + 1;
  }
  return overrides;
}

Override parse_override(Collective collective, std::string_view text, const std::string& credit) {
  if (text == "auto") return {Override::Mode::automatic, {}};
  if (text == "library" || text == "off") return {Override::Mode::library, {}};
  if (text == "on") return {Override::Mode::own, {}};
  Choice choice = parse_choice(collective, text);
  // The protocol without parameters means that Antiphon chooses the parameters itself.
  if (choice.algorithm != nullptr && choice.algorithm->credit == CreditWay::free && text == choice.algorithm->name) {
    choice = parse_choice(collective, std::string(text) + credit);
  }
  return {Override::Mode::fixed, choice};
}

}  // namespace antiphon
