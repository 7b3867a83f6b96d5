// SPDX-License-Identifier: Apache-2.0
#include "mapping/links.hpp"

#include <algorithm>

namespace antiphon::mapping {

Links::Links(const Machine& machine) : machine_(machine) {
  if (machine.torus) {
    rates_.assign(machine.nodes.size() * machine.torus->dims.size() * 2, machine.torus->link_bytes_per_s);
  } else {
    for (const Node& n : machine.nodes) rates_.insert(rates_.end(), 2, n.port_bytes_per_s);
    for (const Switch& s : machine.switches) rates_.insert(rates_.end(), 2, s.uplink_bytes_per_s);
  }
  bytes_.assign(rates_.size(), 0);
}

std::string Links::name(int link) const {
  const auto index = static_cast<std::size_t>(link) / 2;
  const bool even = link % 2 == 0;
  if (machine_.torus) {
    const std::size_t axes = machine_.torus->dims.size();
    return machine_.nodes[index / axes].name + (even ? " +" : " -") + std::to_string(index % axes);
  }
  if (index < machine_.nodes.size()) return machine_.nodes[index].name + (even ? " out" : " in");
  return machine_.switches[index - machine_.nodes.size()].name + (even ? " up" : " down");
}

std::optional<LinkLoad> Links::busiest() const {
  int most = -1;
  double seconds = 0;
  for (int link = 0; link < count(); ++link) {
    const auto i = static_cast<std::size_t>(link);
    if (rates_[i] <= 0 || bytes_[i] / rates_[i] <= seconds) continue;
    seconds = bytes_[i] / rates_[i];
    most = link;
  }
  if (most < 0) return std::nullopt;
  return LinkLoad{name(most), bytes_[static_cast<std::size_t>(most)], bytes_per_s(most)};
}

std::vector<LinkLoad> Links::loaded() const {
  std::vector<LinkLoad> loads;
  for (int link = 0; link < count(); ++link) {
    const double bytes = bytes_[static_cast<std::size_t>(link)];
    if (bytes > 0) loads.push_back({name(link), bytes, bytes_per_s(link)});
  }
  std::stable_sort(loads.begin(), loads.end(),
                   [](const LinkLoad& a, const LinkLoad& b) { return a.seconds() > b.seconds(); });
  return loads;
}

}  // namespace antiphon::mapping
