// SPDX-License-Identifier: Apache-2.0
// The cost of an assignment: the sum of the times of all messages (paper 2's graph mapping problem), and the load of
// each link.
#include <algorithm>

#include "antiphon/index.hpp"
#include "antiphon/mapping.hpp"
#include "mapping/links.hpp"

namespace antiphon::mapping {

namespace {

/// Calls take(from rank, to rank, messages, bytes) for every entry.
template <class Take>
void each_entry(const TrafficGraph& g, Take take) {
  for (int r = 0; r < g.ranks; ++r) {
    const auto end = static_cast<std::size_t>(g.first[at(r) + 1]);
    for (auto e = static_cast<std::size_t>(g.first[at(r)]); e < end; ++e) take(r, g.to[e], g.messages[e], g.bytes[e]);
  }
}

/// The times of one rank's messages; sending and receiving overlap.
struct RankTimes {
  std::vector<double> out;
  std::vector<double> in;

  explicit RankTimes(int ranks) : out(at(ranks)), in(at(ranks)) {}
  void add(int from, int to, double seconds) {
    out[at(from)] += seconds;
    in[at(to)] += seconds;
  }
  [[nodiscard]] double most() const {
    double m = 0;
    for (std::size_t r = 0; r < out.size(); ++r) m = std::max({m, out[r], in[r]});
    return m;
  }
};

}  // namespace

double messages_s(const Task& task, const Assignment& assignment) {
  double sum = 0;
  each_entry(task.traffic(), [&](int from, int to, double messages, double bytes) {
    const Distance& d = task.distance(assignment.slot_of_rank[at(from)], assignment.slot_of_rank[at(to)]);
    sum += messages * d.latency_s + bytes * d.seconds_per_byte;
  });
  return sum;
}

Costs score(const Task& task, const Assignment& assignment) {
  Costs costs;
  Links links(task.machine());
  RankTimes latency(task.ranks());
  RankTimes volume(task.ranks());
  each_entry(task.traffic(), [&](int from, int to, double messages, double bytes) {
    const int a = task.node_of(assignment, from);
    const int b = task.node_of(assignment, to);
    const Distance& d = task.distance(assignment.slot_of_rank[at(from)], assignment.slot_of_rank[at(to)]);
    costs.messages_s += messages * d.latency_s + bytes * d.seconds_per_byte;
    latency.add(from, to, messages * d.latency_s);
    volume.add(from, to, bytes * d.seconds_per_byte);
    if (a == b) return;
    costs.between_nodes_bytes += bytes;
    costs.hop_bytes += bytes * task.machine().hops(a, b);
    links.add(a, b, bytes);
  });
  costs.rank_latency_s = latency.most();
  costs.rank_volume_s = volume.most();
  if (const auto busiest = links.busiest()) {
    costs.congestion_s = busiest->seconds();
    costs.busiest_link = busiest->name;
  }
  costs.predicted_s = std::max(costs.congestion_s, costs.rank_volume_s) + costs.rank_latency_s;
  return costs;
}

double objective_value(const Task& task, const Assignment& assignment) {
  return task.objective() == Objective::messages ? messages_s(task, assignment) : score(task, assignment).predicted_s;
}

std::vector<LinkLoad> link_loads(const Task& task, const Assignment& assignment) {
  Links links(task.machine());
  each_entry(task.traffic(), [&](int from, int to, double, double bytes) {
    const int a = task.node_of(assignment, from);
    const int b = task.node_of(assignment, to);
    if (a != b) links.add(a, b, bytes);
  });
  return links.loaded();
}

}  // namespace antiphon::mapping
