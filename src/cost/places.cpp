// SPDX-License-Identifier: Apache-2.0
#include "antiphon/places.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "antiphon/index.hpp"

namespace antiphon {

namespace {

/// Returns the switches from the top down to this one, and −1 for its own nodes, which stand beside the switches below.
std::vector<int> path_to(const Topology& topology, int which) {
  std::vector<int> path{-1};
  for (int s = which; s >= 0; s = topology.switches[at(s)].parent) path.push_back(s);
  std::reverse(path.begin(), path.end());
  return path;
}

/// Returns where each of these switches comes in the tree, one subtree after the other. At each level the subtree with
/// `first` leads.
std::map<int, int> order_of(std::vector<int> switches, const Topology& topology, std::optional<int> first) {
  const std::vector<int> leading = first ? path_to(topology, *first) : std::vector<int>{};
  std::sort(switches.begin(), switches.end());
  switches.erase(std::unique(switches.begin(), switches.end()), switches.end());
  const auto key = [&](int which) {
    std::vector<std::pair<bool, int>> steps;
    const std::vector<int> path = path_to(topology, which);
    for (std::size_t i = 0; i < path.size(); ++i)
      steps.emplace_back(i >= leading.size() || path[i] != leading[i], path[i]);
    return steps;
  };
  std::sort(switches.begin(), switches.end(), [&](int a, int b) { return key(a) < key(b); });
  std::map<int, int> place;
  for (const int which : switches) place.emplace(which, static_cast<int>(place.size()));
  return place;
}

/// Returns the lengths of runs of equal numbers.
std::vector<int> run_lengths(std::span<const int> numbers) {
  std::vector<int> lengths;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i == 0 || numbers[i] != numbers[i - 1]) lengths.push_back(0);
    ++lengths.back();
  }
  return lengths;
}

std::vector<int> picked(std::span<const int> numbers, std::span<const int> order) {
  std::vector<int> list;
  for (const int rank : order) list.push_back(numbers[at(rank)]);
  return list;
}

bool is_identity(std::span<const int> order) {
  return std::is_sorted(order.begin(), order.end());  // as it has each rank once
}

/// Without switches, ranks of a node that follow one another stay where they are.
Places along_nodes(std::span<const int> nodes) {
  Places places;
  places.node_sizes = run_lengths(nodes);
  std::vector<int> sorted(nodes.begin(), nodes.end());
  std::sort(sorted.begin(), sorted.end());
  const std::vector<int> sizes = run_lengths(sorted);
  if (sizes.size() == places.node_sizes.size()) return places;
  places.node_sizes = sizes;
  places.order.resize(nodes.size());
  std::iota(places.order.begin(), places.order.end(), 0);
  std::stable_sort(places.order.begin(), places.order.end(), [&](int a, int b) { return nodes[at(a)] < nodes[at(b)]; });
  return places;
}

}  // namespace

std::vector<int> switch_of_ranks(std::span<const int> node_of_rank, const Topology& topology) {
  std::vector<int> switches;
  if (topology.nodes.empty() || topology.switches.size() < 2) return switches;
  for (const int node : node_of_rank) switches.push_back(topology.nodes[at(node) % topology.nodes.size()].switch_index);
  const bool one = std::all_of(switches.begin(), switches.end(), [&](int s) { return s == switches[0]; });
  return one ? std::vector<int>{} : switches;
}

Places places_along(std::span<const int> node_of_rank, const Topology& topology, std::optional<int> root) {
  const std::vector<int> switches = switch_of_ranks(node_of_rank, topology);
  if (switches.empty()) return along_nodes(node_of_rank);
  const auto first = root ? std::optional(switches[at(*root)]) : std::nullopt;
  const std::map<int, int> place = order_of(switches, topology, first);
  // The rank comes last in a key, so that sorted keys are an order of ranks.
  std::vector<std::tuple<int, bool, int, bool, int>> keys;
  keys.reserve(node_of_rank.size());
  for (int rank = 0; rank < static_cast<int>(node_of_rank.size()); ++rank) {
    const int node = node_of_rank[at(rank)];
    const bool far = root && node != node_of_rank[at(*root)];
    keys.emplace_back(place.at(switches[at(rank)]), far, node, root && rank != *root, rank);
  }
  std::sort(keys.begin(), keys.end());
  Places places;
  for (const auto& key : keys) places.order.push_back(std::get<4>(key));
  places.node_sizes = run_lengths(picked(node_of_rank, places.order));
  places.switch_sizes = run_lengths(picked(switches, places.order));
  if (is_identity(places.order)) places.order.clear();
  return places;
}

}  // namespace antiphon
