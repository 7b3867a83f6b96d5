// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "antiphon/cost.hpp"
#include "cost/simulation.hpp"

namespace antiphon {

/// One switch; L = 40 µs, g = 20 µs + m/rate, processors that cost nothing.
inline Profile simple_profile(int nodes, double bytes_per_s) {
  Profile profile;
  profile.link_classes = {
      {"plain", Scope::same_switch, 40e-6, Curve({{0, 0}}), Curve({{0, 0}}), Curve::line(20e-6, bytes_per_s)}};
  profile.topology.switches.push_back({"a"});
  profile.topology.nodes.assign(static_cast<std::size_t>(nodes), {"", 0, bytes_per_s});
  return profile;
}

/// The time by all ranks' schedules, and by those that stand for all (0 if nothing repeats).
inline std::pair<double, double> whole_and_standing_for(const Call& call, const Choice& choice,
                                                        const Machine& machine) {
  const auto build = [&](int rank) {
    return choice.algorithm->build(problem_of(call, rank, machine.ranks(), *choice.algorithm, choice.parameters));
  };
  std::vector<Schedule> schedules;
  for (int r = 0; r < machine.ranks(); ++r) schedules.push_back(build(r));
  const double all = evaluate(schedules, machine).seconds;
  const Symmetry symmetry = find_symmetry(build, machine.ranks(), machine.period());
  if (symmetry.whole()) return {all, 0};
  schedules.resize(static_cast<std::size_t>(symmetry.period));
  return {all, CostSimulation(schedules, machine, symmetry, {}).run().seconds};
}

}  // namespace antiphon
