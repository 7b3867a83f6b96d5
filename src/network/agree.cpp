// SPDX-License-Identifier: Apache-2.0
#include "network/agree.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "antiphon/fact.hpp"

namespace antiphon::network {

namespace {

/// What the ranks of one node found together.
struct Node {
  std::map<std::string, Interface> interfaces;  ///< that carry connections between ranks
  std::map<std::string, Device> devices;
};

/// What counts of all nodes.
struct Findings {
  int nodes = 0, with_tcp = 0, with_devices = 0;
  std::map<std::string, Interface> interfaces;
  std::map<std::string, Device> devices;
  std::string told;  ///< "tcp" or "other" if all ranks were told so
};

using Count = std::map<std::uint64_t, int>;

Count count_keys(const std::vector<Sighting>& sightings) {
  Count count;
  for (const Sighting& s : sightings)
    for (const Link& link : s.links)
      for (const std::uint64_t key : link.keys) ++count[key];
  return count;
}

/// Keeps the slower of two readings of the same name.
template <typename T>
void keep_slower(std::map<std::string, T>& kept, const T& found) {
  const auto [at, added] = kept.emplace(found.name, found);
  if (!added && found.bits_per_s < at->second.bits_per_s) at->second = found;
}

std::map<int, Node> nodes_of(const std::vector<Sighting>& sightings, const std::vector<int>& node_of_rank) {
  const Count count = count_keys(sightings);
  const auto joins_ranks = [&](std::uint64_t key) { return count.at(key) > 1; };
  std::map<int, Node> nodes;
  for (std::size_t r = 0; r < sightings.size(); ++r) {
    Node& node = nodes[node_of_rank[r]];
    for (const Link& link : sightings[r].links) {
      if (std::any_of(link.keys.begin(), link.keys.end(), joins_ranks)) keep_slower(node.interfaces, link.interface);
    }
    for (const Device& device : sightings[r].devices) keep_slower(node.devices, device);
  }
  return nodes;
}

Findings find(const std::vector<Sighting>& sightings, const std::vector<int>& node_of_rank) {
  Findings all;
  for (const auto& [number, node] : nodes_of(sightings, node_of_rank)) {
    ++all.nodes;
    all.with_tcp += node.interfaces.empty() ? 0 : 1;
    all.with_devices += node.devices.empty() ? 0 : 1;
    for (const auto& [name, interface] : node.interfaces) keep_slower(all.interfaces, interface);
    for (const auto& [name, device] : node.devices) keep_slower(all.devices, device);
  }
  all.told = sightings.front().told.transport;
  for (const Sighting& s : sightings)
    if (s.told.transport != all.told) all.told.clear();
  return all;
}

template <typename T>
std::string names_of(const std::map<std::string, T>& found) {
  std::string names;
  for (const auto& [name, value] : found) names += (names.empty() ? "" : ",") + name;
  return names;
}

template <typename T>
const T& slowest(const std::map<std::string, T>& found) {
  return std::min_element(found.begin(), found.end(),
                          [](const auto& a, const auto& b) { return a.second.bits_per_s < b.second.bits_per_s; })
      ->second;
}

std::string of_nodes(int some, int all) {
  return (some == all ? "all " : std::to_string(some) + " of ") + std::to_string(all) + " nodes";
}

Network over_tcp(const Findings& all, const std::string& source) {
  const Interface& slow = slowest(all.interfaces);
  const auto wrong = std::find_if(all.interfaces.begin(), all.interfaces.end(),
                                  [](const auto& entry) { return !entry.second.ethernet; });
  const bool ethernet = wrong == all.interfaces.end();
  Network n;
  n.transport = ethernet ? "tcp" : "other";
  n.name = ethernet ? "TCP" : "TCP over " + wrong->first + ", which is no Ethernet";
  n.transport_source = source;
  n.interface = names_of(all.interfaces);
  n.interface_source = "the connections' addresses";
  n.set_rates(slow.bits_per_s, slow.connection_bits_per_s, slow.source);
  n.rate_is_claimed = slow.claimed;
  return n;
}

Network over_devices(const Findings& all, const std::string& source) {
  const Device& slow = slowest(all.devices);
  Network n;
  n.transport = "other";
  n.name = slow.kind;
  n.transport_source = source;
  n.interface = names_of(all.devices);
  n.interface_source = "the devices that ranks have open";
  n.bits_per_s = slow.bits_per_s;
  n.rate_source = slow.source;
  return n;
}

Network unclear(const std::string& why) {
  Network n;
  n.name = "unknown transport";
  n.transport_source = why;
  return n;
}

Network read(const Findings& all, const Told& told) {
  const std::string connected = "connections between ranks on " + of_nodes(all.with_tcp, all.nodes);
  const std::string opened = "devices open on " + of_nodes(all.with_devices, all.nodes);
  if (all.with_devices == 0 && all.with_tcp == all.nodes) return over_tcp(all, connected);
  if (all.with_devices == all.nodes && all.with_tcp == 0) return over_devices(all, opened);
  if (all.with_devices > 0 && all.with_tcp == all.nodes && all.told == "tcp")
    return over_tcp(all, connected + "; " + told.source);
  if (all.with_devices == all.nodes && all.told == "other") return over_devices(all, opened + "; " + told.source);
  if (all.with_devices == 0 && all.with_tcp == 0 && all.told == "other") {
    Network n;
    n.transport = "other";
    n.name = told.component.empty() ? "another transport than TCP" : told.component;
    n.transport_source = told.source;
    n.interface = told.interfaces;
    n.interface_source = told.interfaces.empty() ? "" : "the same";
    return n;
  }
  std::string why = "unclear: " + connected;
  if (!all.interfaces.empty()) why += " (" + names_of(all.interfaces) + ")";
  why += ", " + opened;
  if (!all.devices.empty()) why += " (" + names_of(all.devices) + ")";
  return unclear(why);
}

/// Ranks that use the same cores: those of a node, or of all nodes on one machine.
struct Crowd {
  std::set<int> nodes;
  int ranks = 0;
  Cores cores;

  void add(int node, const Cores& of_rank) {
    nodes.insert(node);
    ++ranks;
    cores.add(of_rank);
  }
  [[nodiscard]] double ranks_on_core() const {
    return cores.count() > 0 ? static_cast<double>(ranks) / cores.count() : 0;
  }
};

/// Returns the first rank on each rank's machine. A node that does not say on which one it is has one of its own.
std::vector<int> machines_of(const std::vector<Sighting>& sightings, const std::vector<int>& node_of_rank) {
  std::map<std::string, int> first_on;
  std::vector<int> machine_of_rank;
  for (std::size_t r = 0; r < sightings.size(); ++r) {
    const std::string& boot_id = sightings[r].machine.boot_id;
    const std::string name = boot_id.empty() ? "node " + std::to_string(node_of_rank[r]) : boot_id;
    machine_of_rank.push_back(first_on.emplace(name, static_cast<int>(r)).first->second);
  }
  return machine_of_rank;
}

/// Returns the crowd with the most ranks for each of its cores.
Crowd largest_crowd(const std::vector<Sighting>& sightings, const std::vector<int>& node_of_rank,
                    const std::vector<int>& machine_of_rank) {
  std::map<int, Crowd> machines;
  std::map<int, Crowd> nodes;
  for (std::size_t r = 0; r < sightings.size(); ++r) {
    machines[machine_of_rank[r]].add(node_of_rank[r], sightings[r].machine.cores);
    nodes[node_of_rank[r]].add(node_of_rank[r], sightings[r].machine.cores);
  }
  Crowd largest;
  for (const auto* crowds : {&machines, &nodes}) {
    for (const auto& [first, crowd] : *crowds)
      if (crowd.ranks_on_core() > largest.ranks_on_core()) largest = crowd;
  }
  return largest;
}

/// Notes how many ranks share a core where it is most, and a usual rank's turn on one.
void note_crowd(Network& n, const std::vector<Sighting>& sightings, const Crowd& crowd) {
  n.cores_per_node = crowd.cores.count();
  n.nodes_sharing = std::max(static_cast<int>(crowd.nodes.size()), 1);
  n.ranks_on_cores = crowd.ranks;
  std::vector<double> looks_s;
  for (const Sighting& sighting : sightings)
    if (sighting.machine.look_s > 0) looks_s.push_back(sighting.machine.look_s);
  if (n.nodes_sharing < 2 || looks_s.empty()) return;
  const auto middle = looks_s.begin() + static_cast<std::ptrdiff_t>(looks_s.size() / 2);
  std::nth_element(looks_s.begin(), middle, looks_s.end());
  n.turn_s = *middle;
}

/// Tells whether some nodes share a machine, and there are several machines.
bool are_packed(const std::vector<int>& node_of_rank, const std::vector<int>& machine_of_rank) {
  const auto nodes = std::set<int>(node_of_rank.begin(), node_of_rank.end()).size();
  const auto machines = std::set<int>(machine_of_rank.begin(), machine_of_rank.end()).size();
  return machines > 1 && machines != nodes;
}

}  // namespace

Network agree(const std::vector<Sighting>& sightings, const std::vector<int>& node_of_rank) {
  if (sightings.empty()) return unclear("no rank said anything");
  const Told& told = sightings.front().told;
  Network n = read(find(sightings, node_of_rank), told);
  n.component = told.component;
  const std::vector<int> machine_of_rank = machines_of(sightings, node_of_rank);
  note_crowd(n, sightings, largest_crowd(sightings, node_of_rank, machine_of_rank));
  if (are_packed(node_of_rank, machine_of_rank)) n.machine_of_rank = machine_of_rank;
  return n;
}

Network on_one_node(const Told& told, int cores, int ranks) {
  Network n;
  n.cores_per_node = cores;
  n.ranks_on_cores = ranks;
  n.transport = n.name = "shared memory";
  n.component = told.component;
  n.transport_source = "all ranks are on one node";
  n.between_nodes = told.transport == "tcp" ? "TCP" : told.transport == "other" ? "another transport than TCP" : "";
  if (n.between_nodes.empty()) n.between_nodes = "what the library chooses";
  if (!told.interfaces.empty()) n.between_nodes += ", interface " + told.interfaces;
  if (!told.source.empty()) n.between_nodes += " (" + told.source + ")";
  return n;
}

std::string rate_text(std::int64_t bits_per_s) {
  if (bits_per_s == 0) return "unknown rate";
  const bool giga = bits_per_s >= 1'000'000'000;
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %cbit/s", static_cast<double>(bits_per_s) / (giga ? 1e9 : 1e6),
                giga ? 'G' : 'M');
  return text;
}

void Network::set_rates(std::int64_t link, std::int64_t connection, std::string source) {
  bits_per_s = link;
  connection_bits_per_s = connection < link ? connection : 0;
  rate_source = std::move(source);
}

std::string Network::line() const {
  std::string text = name;
  if (!component.empty() && component != name) text += " by " + component;
  text = Fact{"transport", text, transport_source}.text();
  if (transport == "shared memory") return text + "; to other nodes " + between_nodes;
  const std::string used = interface.empty() ? "unknown interface" : "interface " + interface;
  text += ", " + Fact{"interface", used, interface_source}.text();
  const std::string one = connection_bits_per_s > 0 ? ", " + rate_text(connection_bits_per_s) + " a connection" : "";
  return text + ", " + Fact{"link rate", rate_text(bits_per_s), rate_source}.text() + one +
         (nodes_sharing > 1 ? ", " + std::to_string(nodes_sharing) + " nodes share the " +
                                  std::to_string(cores_per_node) + " cores of one machine"
                            : "");
}

}  // namespace antiphon::network
