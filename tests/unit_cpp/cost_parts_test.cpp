// SPDX-License-Identifier: Apache-2.0
// Checks predictions that have little to extrapolate from: messages of few bytes, few ranks on one switch. And that
// none does the same work twice.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "antiphon/index.hpp"
#include "cost_clusters.hpp"
#include "most_ranks.hpp"
#include "near.hpp"

using namespace antiphon;

namespace {

/// Sends the block so often that all messages of two ranks are more than the model evaluates without need.
Schedule sent_often(const Problem& p) {
  constexpr int times = 180'000;
  Schedule s;
  for (int i = 0; i < times; ++i) {
    if (p.rank == 0) s.send(1, {Space::output, 0, p.bytes});
    if (p.rank == 1) s.recv(0, {Space::output, 0, p.bytes});
  }
  return s;
}

/// So many nodes on each of two switches.
Profile on_two_switches(int first, int second) {
  Profile profile = simple_profile(first + second, rate);
  profile.link_classes.push_back(profile.link_classes[0]);
  profile.link_classes.back().scope = Scope::uplink;
  profile.topology.switches = {{"top"}, {"one", 0, 2 * rate}, {"two", 0, 2 * rate}};
  for (int n = 0; n < first + second; ++n)
    profile.topology.nodes[static_cast<std::size_t>(n)].switch_index = n < first ? 1 : 2;
  return profile;
}

}  // namespace

TEST_CASE("many messages of few elements: evaluated as they are, since shorter ones say nothing") {
  if (few_ranks()) return;  // takes long there
  Algorithm often = *find_algorithm(Collective::bcast, "flat");
  often.parameters = {};
  often.build = sent_often;
  const Cluster cluster = Cluster::blocked(simple_profile(2, rate), 2, 1);
  for (const std::int64_t bytes : {0, 1, 3, 4, 6, 4000}) {
    CAPTURE(bytes);
    const PredictedCall call{Collective::bcast, bytes};
    std::vector<Schedule> schedules;
    for (int r = 0; r < 2; ++r) schedules.push_back(sent_often(problem_of(call, r, 2, often, {})));
    const auto prediction = predict(call, often, {}, cluster);
    REQUIRE(prediction);
    CHECK(prediction->method == Method::extrapolated);
    CHECK(prediction->seconds == near(seconds(schedules, cluster), 1e-6));
  }
}

TEST_CASE("what needs several switches is extrapolated from ranks that are on several") {
  if (few_ranks()) return;  // fewer ranks are not extrapolated
  PredictionLimits quick;
  quick.max_ranks = 64;
  const Algorithm& rings = *find_algorithm(Collective::allreduce, "switch_rings");
  const PredictedCall call{Collective::allreduce, 65536, 0, 8};
  // Eight ranks are a node of eight.
  const Cluster cluster = Cluster::blocked(on_two_switches(8, 8), 128, 8);
  const auto all = predict(call, rings, {}, cluster);
  const auto soon = predict(call, rings, {}, cluster, nullptr, quick);
  REQUIRE(all);
  REQUIRE(soon);
  CHECK(all->method == Method::evaluated);
  CHECK(soon->method == Method::extrapolated);
  CHECK(soon->seconds == near(all->seconds, 0.3));
  // No 64 ranks, or no 32, are on several switches.
  CHECK_FALSE(predict(call, rings, {}, Cluster::blocked(on_two_switches(9, 7), 128, 8), nullptr, quick));
  CHECK_FALSE(predict(call, rings, {}, Cluster::blocked(on_two_switches(5, 11), 128, 8), nullptr, quick));
}

namespace {

int most_builds_of_a_rank = 0;

/// Counts how often the schedule of one rank was asked.
Schedule counted(const Problem& p) {
  static std::vector<int> builds(at(p.size));
  most_builds_of_a_rank = std::max(most_builds_of_a_rank, ++builds[at(p.rank)]);
  return find_algorithm(Collective::allgather, "ring")->build(p);
}

}  // namespace

TEST_CASE("a prediction builds no schedule twice") {
  Algorithm ring = *find_algorithm(Collective::allgather, "ring");
  ring.build = counted;
  const auto predicted =
      predict({Collective::allgather, 1000}, ring, {}, Cluster::blocked(simple_profile(64, rate), 256, 4));
  REQUIRE(predicted);
  CHECK(predicted->method == Method::symmetric);
  CHECK(most_builds_of_a_rank == 1);
}
