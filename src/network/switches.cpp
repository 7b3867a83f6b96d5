// SPDX-License-Identifier: Apache-2.0
#include "network/switches.hpp"

#include <algorithm>
#include <map>

namespace antiphon::network {

namespace {

std::string short_name(std::string_view name) { return std::string(name.substr(0, name.find('.'))); }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_on_several(const Topology& topology) {
  return std::any_of(topology.nodes.begin(), topology.nodes.end(),
                     [&](const NodeEntry& node) { return node.switch_index != topology.nodes.front().switch_index; });
}

}  // namespace

std::optional<Topology> topology_of_names(const Topology& measured, const std::vector<std::string>& nodes) {
  std::map<std::string, const NodeEntry*> known;
  for (const NodeEntry& node : measured.nodes) known.emplace(short_name(node.name), &node);
  Topology topology{measured.switches, {}};
  for (const std::string& name : nodes) {
    const auto found = known.find(short_name(name));
    if (found == known.end()) return std::nullopt;
    topology.nodes.push_back(*found->second);
  }
  return is_on_several(topology) ? std::optional(topology) : std::nullopt;
}

std::optional<Topology> topology_of_addresses(const std::vector<std::string>& addresses) {
  Topology topology;
  topology.switches.push_back({"top"});
  std::map<std::string, int> known;
  for (const std::string& address : addresses) {
    int above = 0;
    std::string path;
    std::vector<std::string_view> names = split(address, '.');
    const std::string node(names.back());
    names.pop_back();
    if (names.empty()) return std::nullopt;
    for (const std::string_view name : names) {
      path += std::string(name) + '.';
      const auto [place, is_new] = known.emplace(path, static_cast<int>(topology.switches.size()));
      if (is_new) topology.switches.push_back({std::string(name), above});
      above = place->second;
    }
    topology.nodes.push_back({node, above});
  }
  return is_on_several(topology) ? std::optional(topology) : std::nullopt;
}

std::vector<std::string> addresses_of_text(std::string_view text, const std::vector<std::string>& nodes) {
  std::map<std::string, std::string> path_of;
  for (const std::string_view item : split(text, ';')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) return {};
    for (const std::string_view node : split(item.substr(equals + 1), ','))
      path_of[short_name(node)] = std::string(item.substr(0, equals));
  }
  std::vector<std::string> addresses;
  for (const std::string& node : nodes) {
    const auto found = path_of.find(short_name(node));
    if (found == path_of.end()) return {};
    addresses.push_back(found->second + '.' + found->first);
  }
  return addresses;
}

}  // namespace antiphon::network
