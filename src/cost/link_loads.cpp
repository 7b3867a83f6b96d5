// SPDX-License-Identifier: Apache-2.0
#include "cost/link_loads.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace antiphon {

namespace {

constexpr std::ptrdiff_t most_operations = 1 << 17;
/// The loads of two nodes that stand at different places of the tree differ by rounding only.
constexpr double rounding = 0.01;

/// Returns what one node's ranks send through its port, and its share of what crosses the uplinks of each level.
std::vector<double> bytes_of_node(const Cluster& cluster, const std::function<Schedule(int rank)>& build, int first) {
  std::vector<double> bytes(1 + cluster.tree().size(), 0.0);
  const int node = cluster.node(first);
  for (int rank = first; rank < first + cluster.period(); ++rank) {
    const Schedule schedule = build(rank);
    for (const Op& op : schedule.ops()) {
      if (op.kind != OpKind::send || op.group >= 0 || cluster.node(op.peer) == node) continue;
      const auto sent = static_cast<double>(op.bytes());
      bytes[0] += sent;
      for (std::size_t level = 0; level < cluster.tree().size(); ++level)
        bytes[level + 1] += sent * cluster.crossing(cluster.tree()[level], node, cluster.node(op.peer), false);
    }
  }
  return bytes;
}

/// Returns the seconds of the busiest of a node's links: its port, then an uplink of each level.
double longest_s(const Cluster& cluster, const std::vector<double>& bytes) {
  double seconds = bytes[0] / cluster.entry(0).port_bytes_per_s;
  for (std::size_t level = 0; level < cluster.tree().size(); ++level) {
    const TreeLevel& links = cluster.tree()[level];
    seconds = std::max(seconds, bytes[level + 1] * links.nodes / links.uplink_bytes_per_s);
  }
  return seconds;
}

}  // namespace

double all_pairs_link_s(const Cluster& cluster, std::int64_t block_bytes) {
  if (cluster.tree().empty()) return 0;
  const double between_nodes = static_cast<double>(block_bytes) * cluster.period() * cluster.period();
  std::vector<double> bytes{between_nodes * (cluster.nodes() - 1)};
  for (const TreeLevel& links : cluster.tree()) bytes.push_back(between_nodes * (cluster.nodes() - links.nodes));
  return longest_s(cluster, bytes);
}

double busiest_link_s(const Cluster& cluster, const std::function<Schedule(int rank)>& build) {
  if (cluster.tree().empty() || std::ssize(build(0).ops()) > most_operations) return 0;
  const std::vector<double> bytes = bytes_of_node(cluster, build, 0);
  const std::vector<double> others = bytes_of_node(cluster, build, cluster.nodes() / 2 * cluster.period());
  for (std::size_t link = 0; link < bytes.size(); ++link)
    if (std::abs(bytes[link] - others[link]) > rounding * bytes[link]) return 0;
  return longest_s(cluster, bytes);
}

double port_s(const Cluster& cluster, const std::function<Schedule(int rank)>& build, std::span<const int> ranks,
              std::ptrdiff_t most_operations) {
  double most_bytes = 0;
  for (const int rank : ranks) {
    std::array<double, 2> bytes{};
    const Schedule own = build(rank);
    for (const Op& op : own.ops()) {
      const bool message = (op.kind == OpKind::send || op.kind == OpKind::recv) && op.group < 0;
      if (message && cluster.node(op.peer) != cluster.node(rank))
        bytes[op.kind == OpKind::send ? 0 : 1] += static_cast<double>(op.bytes());
    }
    most_bytes = std::max({most_bytes, bytes[0], bytes[1]});
    if (std::ssize(own.ops()) > most_operations) break;
  }
  return most_bytes / cluster.entry(0).port_bytes_per_s;
}

}  // namespace antiphon
