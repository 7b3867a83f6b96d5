// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "cost/pieces.hpp"
#include "cost_clusters.hpp"

using namespace antiphon;

TEST_CASE("a benchmark's calls go on until a port's burst is used up, also where each takes but little of it") {
  Profile profile = simple_profile(4, 1e7);
  profile.link_classes[0].gap = Curve({{0, 0}, {1000, 100e-6}});
  for (NodeEntry& node : profile.topology.nodes) node.burst_bytes = 4096;
  const Barrier barrier{{parse_choice(Collective::barrier, "dissemination")}};
  const Algorithm* chain = find_algorithm(Collective::bcast, "chain");
  // The call takes three hops of one latency each, and the barrier two more, in which a port regains slightly less than
  // a call needs.
  profile.link_classes[0].latency_s = 20e-6;
  const Cluster cluster = Cluster::blocked(profile, 4, 1);
  const double once_s = predict({Collective::bcast, 1000}, *chain, {}, cluster)->seconds;
  CHECK(once_s == doctest::Approx(60e-6));
  CHECK(predict({Collective::bcast, 1000}, *chain, {}, cluster, &barrier)->seconds > once_s + 10e-6);
}

TEST_CASE("a benchmark's calls of many pieces are no more than can be evaluated, however long a burst is") {
  Profile profile = simple_profile(4, rate);
  for (NodeEntry& node : profile.topology.nodes) node.burst_bytes = 10e9;
  const Cluster cluster = Cluster::blocked(profile, 4, 1);
  const Barrier barrier{{parse_choice(Collective::barrier, "dissemination")}};
  const Choice chain = parse_choice(Collective::bcast, "chain:segment_bytes=64");
  const PredictedCall call{Collective::bcast, 1 << 18};
  const auto timed = predict(call, *chain.algorithm, chain.parameters, cluster, &barrier);
  REQUIRE(timed);
  CHECK(timed->seconds > 0);
  // The pieces of one call more show how many calls fit.
  const std::int64_t once = predict(call, *chain.algorithm, chain.parameters, cluster)->pieces;
  CHECK(timed->pieces > 4 * once);
  CHECK(timed->pieces < most_pieces + 3 * once);
}

TEST_CASE("a benchmark's times depend on the barrier before its calls") {
  Profile profile = simple_profile(16, rate);
  profile.link_classes[0].send_overhead = profile.link_classes[0].receive_overhead = Curve({{0, 4e-6}});
  const Algorithm* bcast = find_algorithm(Collective::bcast, "binomial");
  const Cluster cluster = Cluster::blocked(profile, 16, 1);
  const auto after = [&](const char* text) {
    const Barrier barrier{{parse_choice(Collective::barrier, text)}};
    return predict({Collective::bcast, 1024}, *bcast, {}, cluster, &barrier)->seconds;
  };
  CHECK(std::abs(after("dissemination") - after("tree:radix=8")) > 10e-6);
}

TEST_CASE("a library's barrier may have parts, within nodes and between their first ranks") {
  Profile profile = simple_profile(16, rate);
  profile.link_classes[0].send_overhead = profile.link_classes[0].receive_overhead = Curve({{0, 4e-6}});
  const Algorithm* reduce = find_algorithm(Collective::reduce, "in_order_binary");
  const auto part = [](const char* text, Among among) {
    return BarrierPart{parse_choice(Collective::barrier, text), among};
  };
  const auto after = [&](const Barrier& barrier, int per_node) {
    return predict({Collective::reduce, 1024}, *reduce, {}, Cluster::blocked(profile, 16, per_node), &barrier)->seconds;
  };
  const Barrier parts{part("tree", Among::node), part("recursive_doubling", Among::leaders), part("tree", Among::node)};
  // On nodes of one rank, all ranks are leaders.
  CHECK(after(parts, 1) == doctest::Approx(after({part("recursive_doubling", Among::all)}, 1)));
  CHECK(std::abs(after(parts, 4) - after({part("recursive_doubling", Among::all)}, 4)) > 10e-6);
}
