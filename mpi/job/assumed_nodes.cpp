// SPDX-License-Identifier: Apache-2.0
#include "job/assumed_nodes.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace antiphon::mpi {

namespace {

/// Parses "node01" or "node01/0"; returns nothing if the text is neither.
std::optional<AssumedLocation> parse_location(const std::string& text) {
  const std::size_t slash = text.find('/');
  AssumedLocation location{text.substr(0, slash), std::nullopt};
  if (location.node.empty() || location.node.size() >= AssumedLocation::most_name_bytes) return std::nullopt;
  if (slash == std::string::npos) return location;
  int socket = 0;
  const char* const last = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + slash + 1, last, socket);
  if (error != std::errc{} || stop != last || socket < 0) return std::nullopt;
  location.socket = socket;
  return location;
}

}  // namespace

std::vector<AssumedLocation> parse_assumed_nodes(const std::string& text) {
  constexpr long most_times = 1 << 20;
  std::vector<AssumedLocation> locations;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t star = item.find('*');
    const long times = star == std::string::npos ? 1 : std::strtol(item.c_str() + star + 1, nullptr, 10);
    const auto location = parse_location(item.substr(0, star));
    if (!location || times < 1 || times > most_times) return {};
    locations.insert(locations.end(), static_cast<std::size_t>(times), *location);
    begin = end + 1;
  }
  return locations;
}

}  // namespace antiphon::mpi
