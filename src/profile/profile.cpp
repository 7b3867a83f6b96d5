// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/error.hpp"
#include "antiphon/profile.hpp"

namespace antiphon {

std::string_view name(Scope scope) {
  switch (scope) {
    case Scope::core: return "core";
    case Scope::socket: return "socket";
    case Scope::node: return "node";
    case Scope::same_switch: return "switch";
    case Scope::uplink: return "uplink";
  }
  return "?";
}

std::optional<double> Contention::gamma_at(int ranks) const {
  if (gamma.empty()) return std::nullopt;
  if (ranks <= gamma.front().ranks) return gamma.front().gamma;
  for (std::size_t i = 1; i < gamma.size(); ++i) {
    if (ranks > gamma[i].ranks) continue;
    const double share = static_cast<double>(ranks - gamma[i - 1].ranks) / (gamma[i].ranks - gamma[i - 1].ranks);
    return gamma[i - 1].gamma + share * (gamma[i].gamma - gamma[i - 1].gamma);
  }
  return gamma.back().gamma;
}

const LinkClass& Profile::link_class(Scope scope) const {
  const LinkClass* best = nullptr;
  for (const LinkClass& link : link_classes) {
    if (link.scope >= scope) return link;
    best = &link;
  }
  if (best == nullptr) throw InvalidArgument("the profile has no class of links");
  return *best;
}

double Profile::port_bytes_per_s() const {
  double least = topology.nodes.empty() ? 0 : topology.nodes.front().port_bytes_per_s;
  for (const NodeEntry& node : topology.nodes) least = std::min(least, node.port_bytes_per_s);
  return least;
}

Profile Profile::guess(int nodes, int ranks_per_node, double link_bits_per_s) {
  // A TCP segment's payload of a full Ethernet frame.
  const double rate = link_bits_per_s / 8 * 1448 / 1514;
  Profile profile;
  profile.first_guess = true;
  profile.machine.name = "guessed from the links' rate";
  profile.machine.nodes = nodes;
  profile.machine.ranks_per_node = ranks_per_node;
  // Typical of MPI over the kernel's TCP: 10 µs of processor a message and 25 µs one way; through shared memory a tenth.
  profile.link_classes.push_back({"node", Scope::node, 1e-6, Curve::line(0.5e-6, 8e9), Curve::line(0.5e-6, 8e9), Curve::line(0.5e-6, 5e9), 4096});
  profile.link_classes.push_back({"switch", Scope::same_switch, 25e-6, Curve::line(5e-6, 2e9), Curve::line(5e-6, 2e9), Curve::line(10e-6, rate), 65536});
  profile.topology.switches.push_back({"switch"});
  profile.topology.nodes.assign(static_cast<std::size_t>(nodes), {"", 0, rate});
  profile.contention.credit_bytes = 65536;
  return profile;
}

}  // namespace antiphon
