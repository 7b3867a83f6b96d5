// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/cost.hpp"
#include "antiphon/error.hpp"

namespace antiphon {

namespace {

/// Goes up from the nodes' switches; returns nothing where a level is not regular.
std::vector<TreeLevel> regular_tree(const Topology& topology, int nodes) {
  std::vector<int> at(static_cast<std::size_t>(nodes));
  for (std::size_t n = 0; n < at.size(); ++n) at[n] = topology.nodes[n % topology.nodes.size()].switch_index;
  const auto entry = [&](int index) { return topology.switches[static_cast<std::size_t>(index)]; };
  std::vector<TreeLevel> levels;
  while (std::any_of(at.begin(), at.end(), [&](int s) { return s != at[0]; })) {
    const auto block = std::find_if(at.begin(), at.end(), [&](int s) { return s != at[0]; }) - at.begin();
    const double rate = entry(at[0]).uplink_bytes_per_s;
    std::vector<int> firsts;
    for (std::size_t n = 0; n < at.size(); ++n) {
      const bool first = static_cast<std::ptrdiff_t>(n) % block == 0;
      if (first) firsts.push_back(at[n]);
      if (at[n] != firsts.back() || entry(at[n]).parent < 0 || entry(at[n]).uplink_bytes_per_s != rate) return {};
    }
    std::sort(firsts.begin(), firsts.end());
    const bool twice = std::adjacent_find(firsts.begin(), firsts.end()) != firsts.end();
    if (twice || nodes % static_cast<int>(block) != 0) return {};
    levels.push_back({static_cast<int>(block), rate});
    for (int& s : at) s = entry(s).parent;
  }
  return levels;
}

/// Returns the ranks of the fullest group of nodes that are next to one another; `on` has a number for each node.
int fullest(const std::vector<int>& on, int nodes_in_group) {
  std::vector<int> groups(on.size() / static_cast<std::size_t>(nodes_in_group) + 1, 0);
  for (std::size_t node = 0; node < on.size(); ++node)
    groups[node / static_cast<std::size_t>(nodes_in_group)] += on[node];
  return *std::max_element(groups.begin(), groups.end());
}

/// Returns the topology with `count` of its first `nodes` nodes, at even distances, and as much of the links as is
/// theirs, but no less than a port's rate: a link that many nodes share never slows a single message.
Topology thinned(const Topology& topology, int nodes, int count) {
  Topology thin = topology;
  thin.nodes.clear();
  std::vector<double> before(topology.switches.size(), 0.0);
  std::vector<double> after = before;
  const auto add = [&](std::vector<double>& below, int of) {
    for (int s = of; s >= 0; s = topology.switches[static_cast<std::size_t>(s)].parent)
      below[static_cast<std::size_t>(s)] += 1;
  };
  for (int n = 0; n < nodes; ++n) add(before, topology.nodes[static_cast<std::size_t>(n)].switch_index);
  for (int i = 0; i < count; ++i) {
    const auto n = static_cast<std::size_t>(static_cast<std::int64_t>(i) * nodes / count);
    thin.nodes.push_back(topology.nodes[n]);
    add(after, topology.nodes[n].switch_index);
  }
  for (std::size_t s = 0; s < before.size(); ++s) {
    double& rate = thin.switches[s].uplink_bytes_per_s;
    if (before[s] > 0 && after[s] > 0)
      rate = std::max(rate * after[s] / before[s], std::min(rate, topology.nodes[0].port_bytes_per_s));
  }
  return thin;
}

}  // namespace

Cluster::Cluster(Profile profile, std::vector<int> node_of_rank)
    : profile_(std::move(profile)), node_of_rank_(std::move(node_of_rank)) {
  if (profile_.topology.nodes.empty() || profile_.topology.switches.empty())
    throw InvalidArgument("the profile has no nodes");
  if (node_of_rank_.empty()) throw InvalidArgument("a machine needs ranks");
  if (*std::min_element(node_of_rank_.begin(), node_of_rank_.end()) < 0) throw InvalidArgument("a rank is on no node");
  count();
}

Cluster Cluster::blocked(const Profile& profile, int ranks, int ranks_per_node) {
  std::vector<int> nodes(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) nodes[static_cast<std::size_t>(r)] = r / std::max(ranks_per_node, 1);
  return {profile, std::move(nodes)};
}

Cluster Cluster::round_robin(const Profile& profile, int ranks, int nodes) {
  std::vector<int> of(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) of[static_cast<std::size_t>(r)] = r % std::max(nodes, 1);
  return {profile, std::move(of)};
}

const NodeEntry& Cluster::entry(int node) const {
  return profile_.topology.nodes[static_cast<std::size_t>(node) % profile_.topology.nodes.size()];
}

Scope Cluster::scope(int a, int b) const {
  const int x = node(a);
  const int y = node(b);
  if (x == y) return Scope::node;
  return entry(x).switch_index == entry(y).switch_index ? Scope::same_switch : Scope::uplink;
}

double Cluster::crossing(const TreeLevel& level, int from_node, int to_node, bool exchange) const {
  // Exchanges are among powers of two, of which a level's nodes are one as well.
  if (exchange) return (from_node ^ to_node) >= level.nodes ? 1 : 0;
  const int far = (to_node - from_node + nodes_) % nodes_;
  const int staying = std::max(level.nodes - far, 0) + (far > 0 ? std::max(level.nodes - (nodes_ - far), 0) : 0);
  return 1 - static_cast<double>(staying) / level.nodes;
}

const LinkClass& Cluster::link_of_most(int from, int to, bool exchange) const {
  if (tree_.empty() || node(from) == node(to)) return link(from, to);
  const bool most = crossing(tree_.front(), node(from), node(to), exchange) > 0.5;
  return profile_.link_class(most ? Scope::uplink : Scope::same_switch);
}

void Cluster::count() {
  nodes_ = *std::max_element(node_of_rank_.begin(), node_of_rank_.end()) + 1;
  std::vector<int> on(static_cast<std::size_t>(nodes_), 0);
  for (int r = 0; r < ranks(); ++r) {
    ++on[static_cast<std::size_t>(node(r))];
    longest_ = std::max(longest_, scope(0, r));
  }
  const int per_node = on[0];
  // There is a symmetry only where all nodes are alike and evenly filled, on one switch or on those of a regular tree.
  // Which symmetry it is depends on how ranks are dealt to nodes.
  period_ = ranks();
  const auto& all = profile_.topology.nodes;
  const std::span nodes(all.data(), std::min(all.size(), static_cast<std::size_t>(nodes_)));
  const bool even = std::all_of(on.begin(), on.end(), [&](int n) { return n == per_node; });
  const bool same = std::all_of(nodes.begin(), nodes.end(), [&](const NodeEntry& n) {
    return n.port_bytes_per_s == nodes[0].port_bytes_per_s && n.burst_bytes == nodes[0].burst_bytes;
  });
  const bool one_switch = std::all_of(nodes.begin(), nodes.end(),
                                      [&](const NodeEntry& n) { return n.switch_index == nodes[0].switch_index; });
  bool in_blocks = even;
  bool dealt = even;
  for (int r = 0; r < ranks(); ++r) {
    in_blocks = in_blocks && node(r) == r / per_node;
    dealt = dealt && node(r) == r % nodes_;
  }
  if (same && in_blocks && !one_switch) tree_ = regular_tree(profile_.topology, nodes_);
  if (same && in_blocks && (one_switch || !tree_.empty())) period_ = per_node;
  else if (same && dealt && one_switch) period_ = 1;
  const Processors& p = profile_.processors;
  ranks_on_cores_ = fullest(on, std::max(p.nodes_sharing, 1));
  cores_ = p.cores() > 0 && ranks_on_cores_ > p.cores() ? p.cores() : 0;
}

Cluster Cluster::resized(int count) const {
  const int per_node = std::max((ranks() + nodes_ - 1) / nodes_, 1);
  const int nodes = (count + per_node - 1) / per_node;
  if (!tree_.empty() && nodes < nodes_ && nodes_ <= static_cast<int>(profile_.topology.nodes.size())) {
    Profile profile = profile_;
    profile.topology = thinned(profile_.topology, nodes_, nodes);
    return blocked(profile, count, per_node);
  }
  return period_ == 1 && per_node > 1 ? round_robin(profile_, count, (count + per_node - 1) / per_node)
                                      : blocked(profile_, count, per_node);
}

}  // namespace antiphon
