// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "antiphon/error.hpp"
#include "antiphon/index.hpp"
#include "antiphon/mapping.hpp"

namespace antiphon::mapping {

namespace {

constexpr Distance nowhere{};

/// Guesses distances within a node that were not measured: shared memory is as fast as copying twice.
Distance guessed_within_node(const Profile& profile) {
  return {5e-7, 2 / std::max(profile.processors.copy_bytes_per_s, 1e8)};
}

Distance distance_of(const LinkClass& link, double message_bytes) {
  const double empty_s = link.gap.at(0);
  const double full_s = link.gap.at(static_cast<std::int64_t>(message_bytes));
  return {link.latency_s + empty_s, message_bytes > 0 ? std::max(0.0, full_s - empty_s) / message_bytes : 0};
}

int depth(const std::vector<Switch>& switches, int index) {
  int steps = 0;
  while (switches[at(index)].parent >= 0) {
    index = switches[at(index)].parent;
    ++steps;
  }
  return steps;
}

[[noreturn]] void wrong(const std::string& what) { throw InvalidArgument("machine: " + what); }

void check_kinds(const Machine& m) {
  for (const NodeKind& kind : m.kinds) {
    if (kind.cores < 1) wrong("a node needs at least one core");
    if (!kind.between.empty() && kind.between.size() != at(kind.cores) * at(kind.cores)) {
      wrong("a node's matrix does not have as many rows as the node cores");
    }
    int width = 0;
    for (const Level& level : kind.levels) {
      if (level.width <= width) wrong("a node's levels must be wider one by one");
      width = level.width;
    }
    if (!kind.levels.empty() && width < kind.cores) {
      wrong("the last level of a node with " + std::to_string(kind.cores) + " cores spans only " +
            std::to_string(width));
    }
  }
}

/// Limits the size, so that nothing here or in a task overflows.
void check_size(const Machine& m) {
  constexpr std::int64_t most = std::int64_t{1} << 24;
  std::int64_t cores = 0;
  for (const Node& n : m.nodes) {
    if (n.kind < 0 || at(n.kind) >= m.kinds.size()) wrong("node " + n.name + " is of a kind that is not there");
    cores += m.kinds[at(n.kind)].cores;
    if (cores > most) wrong("more than " + std::to_string(most) + " cores");
  }
}

void check_switches(const Machine& m) {
  if (m.switches.empty()) wrong("there is no switch");
  for (std::size_t i = 0; i < m.switches.size(); ++i) {
    // A parent must come before its children, so that there is no cycle.
    if (m.switches[i].parent >= static_cast<int>(i))
      wrong("switch " + m.switches[i].name + ": its parent must be listed before it");
    if (m.switches[i].parent < 0 && i > 0)
      wrong("switch " + m.switches[i].name + " has no parent: only the first one can be the top");
  }
}

void check_torus(const Machine& m) {
  if (!m.torus) return;
  std::int64_t positions = 1;
  for (const int d : m.torus->dims) {
    if (d < 1 || positions > m.node_count()) wrong("the torus has other dimensions than nodes");
    positions *= d;
  }
  if (positions != m.node_count()) {
    wrong("the torus has " + std::to_string(positions) + " places for " + std::to_string(m.node_count()) + " nodes");
  }
}

}  // namespace

const Distance& NodeKind::distance(int core, int other) const {
  if (!between.empty()) return between[at(core) * at(cores) + at(other)];
  for (const Level& level : levels) {
    if (core / level.width == other / level.width) return level.distance;
  }
  return levels.empty() ? nowhere : levels.back().distance;
}

int Machine::cores() const {
  int sum = 0;
  for (int n = 0; n < node_count(); ++n) sum += cores(n);
  return sum;
}

int Machine::common_switch(int node, int other) const {
  int a = nodes[at(node)].switch_index;
  int b = nodes[at(other)].switch_index;
  // Parents have lower numbers than their children.
  while (a != b) {
    if (a > b) {
      a = switches[at(a)].parent;
    } else {
      b = switches[at(b)].parent;
    }
  }
  return a;
}

const Distance& Machine::node_distance(int node, int other) const {
  if (!between_nodes.empty()) return between_nodes[at(node) * nodes.size() + at(other)];
  const int common = common_switch(node, other);
  const bool both_here = nodes[at(node)].switch_index == common && nodes[at(other)].switch_index == common;
  return both_here ? switches[at(common)].within : switches[at(common)].across;
}

bool Machine::knows_links() const {
  if (torus && torus->link_bytes_per_s > 0) return true;
  return std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.port_bytes_per_s > 0; }) ||
         std::any_of(switches.begin(), switches.end(), [](const Switch& s) { return s.uplink_bytes_per_s > 0; });
}

int Machine::hops(int node, int other) const {
  if (node == other) return 0;
  if (!torus) {
    const int common = depth(switches, common_switch(node, other));
    return 2 + depth(switches, nodes[at(node)].switch_index) + depth(switches, nodes[at(other)].switch_index) -
           2 * common;
  }
  int sum = 0;
  for (std::size_t axis = torus->dims.size(); axis-- > 0;) {
    const int d = torus->dims[axis];
    const int apart = std::abs(node % d - other % d);
    sum += std::min(apart, d - apart);
    node /= d;
    other /= d;
  }
  return sum;
}

void Machine::check() const {
  if (nodes.empty()) wrong("there is no node");
  check_kinds(*this);
  check_size(*this);
  check_switches(*this);
  check_torus(*this);
  for (const Node& n : nodes) {
    if (n.switch_index < 0 || at(n.switch_index) >= switches.size())
      wrong("node " + n.name + " is on a switch that is not there");
  }
  if (!between_nodes.empty() && between_nodes.size() != nodes.size() * nodes.size()) {
    wrong("the matrix between nodes does not have as many rows as there are nodes");
  }
  if (!between_cores.empty() && between_cores.size() != at(cores()) * at(cores())) {
    wrong("the matrix between cores does not have as many rows as there are cores");
  }
}

Machine Machine::of_profile(const Profile& profile, int cores_per_node, double message_bytes) {
  Machine m;
  m.name = profile.machine.name;
  const bool measured_within = !profile.link_classes.empty() && profile.link_classes.front().scope <= Scope::node;
  NodeKind kind;
  const Processors& p = profile.processors;
  const int found = p.physical_cores > 0 ? p.physical_cores : p.cores_per_node;
  kind.cores = cores_per_node > 0 ? cores_per_node : std::max(profile.machine.ranks_per_node, found);
  const int sockets = p.sockets_per_node;
  if (sockets > 1 && kind.cores % sockets == 0 && kind.cores > sockets && measured_within) {
    kind.levels.push_back({kind.cores / sockets, distance_of(profile.link_class(Scope::socket), message_bytes)});
  }
  kind.levels.push_back({kind.cores, measured_within ? distance_of(profile.link_class(Scope::node), message_bytes)
                                                     : guessed_within_node(profile)});
  m.kinds = {kind};
  const Distance within = distance_of(profile.link_class(Scope::same_switch), message_bytes);
  const Distance across = distance_of(profile.link_class(Scope::uplink), message_bytes);
  for (const SwitchEntry& s : profile.topology.switches)
    m.switches.push_back({s.name, s.parent, s.uplink_bytes_per_s, within, across});
  for (const NodeEntry& n : profile.topology.nodes) {
    const std::string name = n.name.empty() ? "node" + std::to_string(m.nodes.size()) : n.name;
    m.nodes.push_back({name, 0, n.switch_index, n.port_bytes_per_s});
  }
  m.check();
  return m;
}

}  // namespace antiphon::mapping
