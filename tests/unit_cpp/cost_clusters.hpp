// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "antiphon/cost.hpp"
#include "cost/simulation.hpp"

namespace antiphon {

/// The links' rate, in bytes/s, where a test has no reason for another.
inline constexpr double rate = 100e6;
inline constexpr double fast_ethernet = 12e6;

/// Makes a cluster with one switch, L = 40 µs, g = 20 µs + m/rate, and processors that cost nothing.
inline Profile simple_profile(int nodes, double bytes_per_s) {
  Profile profile;
  profile.link_classes = {
      {"plain", Scope::same_switch, 40e-6, Curve({{0, 0}}), Curve({{0, 0}}), Curve::line(20e-6, bytes_per_s)}};
  profile.topology.switches.push_back({"a"});
  profile.topology.nodes.assign(static_cast<std::size_t>(nodes), {"", 0, bytes_per_s});
  return profile;
}

inline double seconds(const std::vector<Schedule>& schedules, const Cluster& cluster) {
  return evaluate(schedules, cluster).seconds;
}

/// A message of `count` bytes is read from the range bytes(), and written to the range place().
inline Range bytes(std::int64_t count) { return {Space::input, 0, count}; }
inline Range place(std::int64_t count) { return {Space::output, 0, count}; }

/// Returns the time by all ranks' schedules, and the time by the ranks that stand for all (0 if nothing repeats).
inline std::pair<double, double> whole_and_standing_for(const PredictedCall& call, const Choice& choice,
                                                        const Cluster& cluster) {
  const auto build = [&](int rank) {
    return choice.algorithm->build(problem_of(call, rank, cluster.ranks(), *choice.algorithm, choice.parameters));
  };
  std::vector<Schedule> schedules;
  for (int r = 0; r < cluster.ranks(); ++r) schedules.push_back(build(r));
  const double all = evaluate(schedules, cluster).seconds;
  const Symmetry symmetry = find_symmetry(build, cluster.ranks(), cluster.period());
  if (symmetry.whole()) return {all, 0};
  schedules.resize(static_cast<std::size_t>(symmetry.period));
  return {all, CostSimulation(schedules, cluster, symmetry, {}).run().seconds};
}

}  // namespace antiphon
