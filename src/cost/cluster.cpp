// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "antiphon/cost.hpp"
#include "antiphon/error.hpp"

namespace antiphon {

std::vector<int> ranks_along_nodes(std::span<const int> node_of_rank) {
  std::vector<int> order(node_of_rank.size());
  std::iota(order.begin(), order.end(), 0);
  const auto node = [&](int rank) { return node_of_rank[static_cast<std::size_t>(rank)]; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return node(a) < node(b); });
  return order;
}

std::vector<int> node_sizes_of(std::span<const int> node_of_rank) {
  std::vector<int> nodes(node_of_rank.begin(), node_of_rank.end());
  const auto run_lengths = [&] {
    std::vector<int> lengths;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (i == 0 || nodes[i] != nodes[i - 1]) lengths.push_back(0);
      ++lengths.back();
    }
    return lengths;
  };
  const std::vector<int> runs = run_lengths();
  std::sort(nodes.begin(), nodes.end());
  std::vector<int> sorted = run_lengths();
  return runs.size() == sorted.size() ? runs : sorted;
}

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

void Cluster::count() {
  nodes_ = *std::max_element(node_of_rank_.begin(), node_of_rank_.end()) + 1;
  std::vector<int> on(static_cast<std::size_t>(nodes_), 0);
  for (const int n : node_of_rank_) ++on[static_cast<std::size_t>(n)];
  const int per_node = on[0];
  // There is a symmetry only where all nodes are alike, evenly filled and on one switch. Which symmetry it is depends
  // on how ranks are dealt to nodes.
  period_ = ranks();
  const auto& nodes = profile_.topology.nodes;
  const bool even = std::all_of(on.begin(), on.end(), [&](int n) { return n == per_node; });
  const bool same = std::all_of(nodes.begin(), nodes.end(), [&](const NodeEntry& n) {
    return n.switch_index == nodes[0].switch_index && n.port_bytes_per_s == nodes[0].port_bytes_per_s &&
           n.burst_bytes == nodes[0].burst_bytes;
  });
  bool in_blocks = even;
  bool dealt = even;
  for (int r = 0; r < ranks(); ++r) {
    in_blocks = in_blocks && node(r) == r / per_node;
    dealt = dealt && node(r) == r % nodes_;
  }
  if (same && in_blocks) period_ = per_node;
  else if (same && dealt) period_ = 1;
  const Processors& p = profile_.processors;
  const int sharing = std::min(p.nodes_sharing, nodes_);
  ranks_on_cores_ = std::max(per_node * sharing, 1);
  cores_ = p.cores_per_node > 0 && ranks_on_cores_ > p.cores_per_node ? p.cores_per_node : 0;
}

std::vector<int> Cluster::along_nodes() const {
  return std::is_sorted(node_of_rank_.begin(), node_of_rank_.end()) ? std::vector<int>{}
                                                                    : ranks_along_nodes(node_of_rank_);
}

std::vector<int> Cluster::node_sizes() const { return node_sizes_of(node_of_rank_); }

Cluster Cluster::resized(int count) const {
  const int per_node = std::max((ranks() + nodes_ - 1) / nodes_, 1);
  return period_ == 1 && per_node > 1 ? round_robin(profile_, count, (count + per_node - 1) / per_node)
                                      : blocked(profile_, count, per_node);
}

}  // namespace antiphon
