// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "antiphon/index.hpp"
#include "cost/growth.hpp"
#include "cost/link_loads.hpp"
#include "cost_clusters.hpp"
#include "most_ranks.hpp"
#include "near.hpp"

using namespace antiphon;

TEST_CASE("one rank stands for all where everything repeats: the same time as all ranks'") {
  const Profile profile = simple_profile(64, rate);
  for (const int per_node : {1, 4}) {
    const Cluster cluster = Cluster::blocked(profile, 64, per_node);
    CHECK(cluster.period() == per_node);
    for (const char* name : {"alltoall:rotated", "alltoall:exchange_xor", "allgather:ring",
                             "allgather:recursive_doubling", "barrier:dissemination", "reduce_scatter_block:ring"}) {
      CAPTURE(name);
      const std::string text(name);
      const Collective collective = *collective_from_name(text.substr(0, text.find(':')));
      const Choice choice = parse_choice(collective, text.substr(text.find(':') + 1));
      const auto [all, one] = whole_and_standing_for({collective, 20000}, choice, cluster);
      REQUIRE(one > 0);
      CHECK(one == near(all, per_node == 1 ? 0.001 : 0.05));
    }
  }
}

namespace {

/// Makes a tree: `leaf` nodes on each switch, `pod` nodes below each switch of the second level, and uplinks that carry
/// half of what their nodes could send, or so much less.
Profile tree_profile(int nodes, int leaf, int pod, int less = 2) {
  Profile profile = simple_profile(nodes, rate);
  profile.link_classes.push_back(profile.link_classes[0]);
  profile.link_classes.back().scope = Scope::uplink;
  profile.link_classes.back().latency_s = 80e-6;
  for (int p = 0; p < nodes / pod; ++p) profile.topology.switches.push_back({"p", 0, rate * pod / less});
  for (int l = 0; l < nodes / leaf; ++l)
    profile.topology.switches.push_back({"l", 1 + l * leaf / pod, rate * leaf / less});
  for (int n = 0; n < nodes; ++n)
    profile.topology.nodes[static_cast<std::size_t>(n)].switch_index = 1 + nodes / pod + n / leaf;
  return profile;
}

}  // namespace

TEST_CASE("in a regular tree of switches one node stands for all, with its share of the uplinks") {
  const int nodes = few_ranks() ? 16 : 64;
  const Profile regular = tree_profile(nodes, nodes / 8, nodes / 2);
  for (const int per_node : {1, 2}) {
    const Cluster cluster = Cluster::blocked(regular, nodes * per_node, per_node);
    REQUIRE(cluster.tree().size() == 2);
    CHECK(cluster.period() == per_node);
    for (const char* name : {"alltoall:rotated", "alltoall:exchange_xor", "allgather:ring",
                             "allgather:recursive_doubling", "reduce_scatter_block:ring"}) {
      CAPTURE(name);
      CAPTURE(per_node);
      const std::string text(name);
      const Choice choice =
          parse_choice(*collective_from_name(text.substr(0, text.find(':'))), text.substr(text.find(':') + 1));
      const auto [all, one] = whole_and_standing_for({choice.algorithm->collective, 20000}, choice, cluster);
      REQUIRE(one > 0);
      CHECK(one == near(all, 0.1));
    }
  }
  // Half of the nodes, and nodes of other switches in between, make no regular tree.
  const Profile profile = tree_profile(64, 8, 32);
  CHECK(Cluster::blocked(profile, 36, 1).tree().empty());
  // Those of one switch are as if there were no others.
  CHECK(Cluster::blocked(profile, 8, 1).period() == 1);
  CHECK(Cluster::round_robin(profile, 128, 64).tree().empty());
  // Fewer nodes keep the tree's shape and their share of its links.
  const Cluster small = Cluster::blocked(profile, 64, 1).resized(16);
  REQUIRE(small.tree().size() == 2);
  CHECK(small.tree()[0].nodes == 2);
  CHECK(small.tree()[0].uplink_bytes_per_s == doctest::Approx(rate));
  CHECK(small.tree()[1].nodes == 8);
}

TEST_CASE("a root stands for nobody, wherever it is") {
  const Profile profile = simple_profile(64, rate);
  for (const int per_node : {4, 16}) {
    for (const int root : {0, 1, 3, 7, 15, 16, 44, 60, 63}) {
      CAPTURE(root);
      const Choice choice = parse_choice(Collective::bcast, "knomial:radix=4");
      PredictedCall call{Collective::bcast, 1000};
      call.root = root;
      const auto build = [&](int rank) {
        return choice.algorithm->build(problem_of(call, rank, 64, *choice.algorithm, choice.parameters));
      };
      CHECK(find_symmetry(build, 64, per_node, root).whole());
    }
  }
}

TEST_CASE("what is extrapolated from fewer ranks holds for a root that is none of them") {
  const Cluster cluster = Cluster::blocked(simple_profile(4096, rate), 4096, 1);
  for (const char* name : {"bcast:binary", "bcast:chain", "bcast:binomial", "gather:binomial", "scatter:binary"}) {
    CAPTURE(name);
    const std::string text(name);
    const Collective collective = *collective_from_name(text.substr(0, text.find(':')));
    const Choice choice = parse_choice(collective, text.substr(text.find(':') + 1));
    PredictedCall call{collective, 65536};
    const auto first = predict(call, *choice.algorithm, choice.parameters, cluster);
    REQUIRE(first);
    call.root = 1000;
    const auto other = predict(call, *choice.algorithm, choice.parameters, cluster);
    REQUIRE(other);
    CHECK(other->seconds == near(first->seconds, 0.1));
  }
}

TEST_CASE("a prediction for every algorithm, also for many ranks") {
  Profile profile = simple_profile(16, rate);
  profile.multicast = {true, 40e-6, Curve::line(20e-6, rate), 100e-6};
  Profile switched = profile;  // the nodes of the second half are on another switch
  switched.topology.switches = {{"top"}, {"one", 0, 4 * rate}, {"two", 0, 4 * rate}};
  for (std::size_t n = 0; n < switched.topology.nodes.size(); ++n)
    switched.topology.nodes[n].switch_index = n < switched.topology.nodes.size() / 2 ? 1 : 2;
  for (const Algorithm* a : algorithms()) {
    CAPTURE(a->name);
    const int per_node = a->levels ? 2 : 1;
    const Profile& machine = a->name == "switch_rings" ? switched : profile;
    const auto few = predict({a->collective, 4096}, *a, {}, Cluster::blocked(machine, 16, per_node));
    REQUIRE(few);
    CHECK(few->seconds > 0);
    const auto many =
        predict({a->collective, 4096}, *a, {}, Cluster::blocked(machine, few_ranks() ? 32 : 128, per_node));
    if (many) CHECK(many->seconds > few->seconds * (a->multicasts ? 0.99 : 1));  // one copy on the wire, for any P
  }
}

TEST_CASE("extrapolated from fewer ranks: as evaluated, within a few per cent") {
  const Profile profile = simple_profile(16, rate);
  for (const char* name : {"chain", "flat", "binomial"}) {
    const Choice choice = parse_choice(Collective::bcast, name);
    const Cluster cluster = Cluster::blocked(profile, 2000, 1);
    const double extrapolated =
        predict_from_fewer_ranks({Collective::bcast, 65536}, *choice.algorithm, choice.parameters, cluster).value();
    std::vector<Schedule> schedules;
    for (int r = 0; r < cluster.ranks(); ++r) {
      schedules.push_back(choice.algorithm->build(
          problem_of({Collective::bcast, 65536}, r, cluster.ranks(), *choice.algorithm, choice.parameters)));
    }
    const double all = seconds(schedules, cluster);
    CHECK(extrapolated == near(all, 0.05));
  }
}

TEST_CASE("parts of a tree of narrow links: its links do not slow the few messages of a broadcast") {
  const Cluster cluster = Cluster::blocked(tree_profile(256, 8, 64, 4), 1024, 4);
  for (const char* name : {"binomial", "knomial"}) {
    CAPTURE(name);
    const Choice choice = parse_choice(Collective::bcast, name);
    const PredictedCall call{Collective::bcast, 65536};
    const double extrapolated = predict_from_fewer_ranks(call, *choice.algorithm, choice.parameters, cluster).value();
    std::vector<Schedule> schedules;
    for (int r = 0; r < cluster.ranks(); ++r)
      schedules.push_back(
          choice.algorithm->build(problem_of(call, r, cluster.ranks(), *choice.algorithm, choice.parameters)));
    CHECK(extrapolated / seconds(schedules, cluster) == near(1, 0.05));
  }
}

TEST_CASE("parts of a tree of few nodes: the load of its uplinks is known for all") {
  if (few_ranks()) return;  // the whole takes minutes there
  for (const int less : {2, 4}) {
    Profile profile = tree_profile(256, 8, 64, less);
    for (SwitchEntry& entry : profile.topology.switches)
      if (entry.name == "l") entry.uplink_bytes_per_s = rate * 8;
    const Cluster cluster = Cluster::blocked(profile, 8192, 32);
    const double whole_s = 32.0 * (8192 - 64 * 32) * 4096 / (rate / less);
    for (const char* name : {"windowed:window=32", "rotated"}) {
      CAPTURE(name);
      CAPTURE(less);
      const Choice choice = parse_choice(Collective::alltoall, name);
      const double extrapolated =
          predict_from_fewer_ranks({Collective::alltoall, 4096}, *choice.algorithm, choice.parameters, cluster).value();
      CHECK(extrapolated / whole_s == near(1.05, 0.06));
    }
    CHECK(all_pairs_link_s(cluster, 4096) / whole_s == near(1, 1e-9));
  }
}

TEST_CASE("what grows with each doubling of the ranks only is not taken for what grows with each rank") {
  if (few_ranks()) return;  // takes minutes there; smaller extrapolations run the same code
  const Profile profile = simple_profile(16, rate);
  const auto at = [&](const char* name, int ranks) {
    const Choice choice = parse_choice(Collective::bcast, name);
    return predict({Collective::bcast, 1 << 20}, *choice.algorithm, choice.parameters,
                   Cluster::blocked(profile, ranks, 1))
        ->seconds;
  };
  // 64 blocks and 16 doublings are 79 rounds, where 256 ranks need 71.
  constexpr int many = 65536;
  const double growth = at("circulant", many) / at("circulant", 256);
  CHECK(growth < 1.5);
  CHECK(growth > 1);
  CHECK(at("chain", many) / at("chain", 256) > 0.4 * many / 256);
}

TEST_CASE("several ranks a node: extrapolated over nodes, and never less than a port's own bytes") {
  if (few_ranks()) return;  // parts of a tree run the same code
  const Profile profile = simple_profile(64, rate);
  const Cluster cluster = Cluster::blocked(profile, 64 * 16, 16);
  for (const char* name : {"alltoall:rotated", "gather:chain", "gather:binomial"}) {
    CAPTURE(name);
    const std::string text(name);
    const Choice choice =
        parse_choice(*collective_from_name(text.substr(0, text.find(':'))), text.substr(text.find(':') + 1));
    const PredictedCall call{choice.algorithm->collective, 1 << 20};
    const auto prediction = predict(call, *choice.algorithm, choice.parameters, cluster);
    REQUIRE(prediction);
    const double blocks = call.collective == Collective::gather ? 1008 : 16 * 1008;
    CHECK(prediction->seconds > blocks * (1 << 20) / rate);
    CHECK(prediction->seconds < 4 * blocks * (1 << 20) / rate);
  }
}

TEST_CASE("extrapolated from parts of a tree: none is a single node, which has no switches") {
  if (few_ranks()) return;
  const Cluster cluster = Cluster::blocked(tree_profile(32, 4, 16), 512, 16);
  const auto at = [&](const char* name) {
    const Choice choice = parse_choice(Collective::allgather, name);
    const auto prediction = predict({Collective::allgather, 1 << 17}, *choice.algorithm, choice.parameters, cluster);
    REQUIRE(prediction);
    return prediction->seconds;
  };
  // All that a node gets passes its port once in both.
  const double ratio = at("switch_rings") / at("ring");
  CHECK(ratio > 0.3);
  CHECK(ratio < 6);
}

TEST_CASE("many flows that hang together: given up, and extrapolated from what takes less") {
  if (few_ranks()) return;  // fewer ranks are not extrapolated
  const Profile profile = simple_profile(16, rate);
  const PredictedCall call{Collective::bcast, 1 << 20};
  const Choice choice = parse_choice(Collective::bcast, "circulant");
  const Cluster cluster = Cluster::blocked(profile, 272, 1);
  std::vector<Schedule> schedules;
  for (int r = 0; r < cluster.ranks(); ++r) {
    schedules.push_back(
        choice.algorithm->build(problem_of(call, r, cluster.ranks(), *choice.algorithm, choice.parameters)));
  }
  EvaluationOptions options;
  options.max_rate_updates = 1000;
  CHECK(evaluate(schedules, cluster, options).given_up);
  const Evaluation all = evaluate(schedules, cluster);
  CHECK_FALSE(all.given_up);
  const auto prediction = predict(call, *choice.algorithm, choice.parameters, cluster);
  REQUIRE(prediction);
  CHECK(prediction->method == Method::extrapolated);
  CHECK(prediction->seconds == near(all.seconds, 0.1));
}

TEST_CASE("threads that evaluate algorithms side by side rank them as one does") {
  const Profile profile = simple_profile(16, rate);
  const Cluster cluster = Cluster::blocked(profile, 16, 1);
  SearchOptions options;
  const auto by_one = rank_candidates({Collective::allgather, 1 << 16}, cluster, options);
  options.threads = 4;
  const auto by_four = rank_candidates({Collective::allgather, 1 << 16}, cluster, options);
  REQUIRE(by_one.size() > 3);
  REQUIRE(by_four.size() == by_one.size());
  for (std::size_t i = 0; i < by_one.size(); ++i) {
    CHECK(by_four[i].algorithm == by_one[i].algorithm);
    CHECK(by_four[i].parameters == by_one[i].parameters);
    CHECK(by_four[i].seconds == by_one[i].seconds);
  }
}

TEST_CASE("the model ranks all algorithms and chooses the first") {
  if (few_ranks()) return;
  const Profile profile = simple_profile(16, rate);
  const auto ranked = rank_candidates({Collective::bcast, 1 << 20}, Cluster::blocked(profile, 16, 1));
  REQUIRE(ranked.size() > 5);
  for (std::size_t i = 1; i < ranked.size(); ++i) CHECK(ranked[i - 1].seconds <= ranked[i].seconds);
  Question question{Collective::bcast, 16, 16, 1, 1 << 20};
  const auto choice = choose_by_model(question, profile);
  REQUIRE(choice);
  CHECK(choice->algorithm == ranked[0].algorithm);
  CHECK(choice->algorithm->name != "flat");
  question.bytes = -1;
  CHECK_FALSE(choose_by_model(question, profile));
}

namespace {

int most_ranks_built = 0;

/// Notes the most ranks for which a schedule was asked.
Schedule noted(const Problem& p) {
  most_ranks_built = std::max(most_ranks_built, p.size);
  return find_algorithm(Collective::bcast, "binomial")->build(p);
}

}  // namespace

TEST_CASE("an answer that must be quick builds schedules of no more ranks than it may") {
  // A tree's times grow with each doubling, so they do not tell by themselves how they grow.
  Algorithm tree = *find_algorithm(Collective::bcast, "binomial");
  tree.build = noted;
  PredictionLimits limits;
  limits.max_ranks = 64;
  for (const int per_node : {1, 16}) {
    most_ranks_built = 0;
    const Cluster cluster = Cluster::blocked(simple_profile(256, rate), 256 * per_node, per_node);
    const auto predicted = predict({Collective::bcast, 1000}, tree, {}, cluster, nullptr, limits);
    REQUIRE(predicted);
    CHECK(most_ranks_built == 64);
  }
}

TEST_CASE("a quick answer is that of all ranks where few stand for all") {
  const Cluster cluster = Cluster::blocked(Profile::guess(16, 16, 1e10), 256, 16);
  PredictionLimits quick;
  quick.max_ranks = 64;
  const PredictedCall call{Collective::allgather, 4 << 20};
  const auto both = [&](const char* text) {
    const Choice ring = parse_choice(call.collective, text);
    const auto soon = predict(call, *ring.algorithm, ring.parameters, cluster, nullptr, quick);
    return std::pair(soon->seconds, predict(call, *ring.algorithm, ring.parameters, cluster)->seconds);
  };
  const auto [soon_s, all_s] = both("ring:segment_bytes=0");
  CHECK(soon_s == doctest::Approx(all_s));
  // What has too many pieces for that is extrapolated from shorter messages, and is no less than its port needs.
  const auto [cut_s, all_cut_s] = both("ring:segment_bytes=16384");
  CHECK(cut_s > 240.0 * (4 << 20) / (1e10 / 8));
  CHECK(cut_s == near(all_cut_s, 0.15));
}

TEST_CASE("what takes too much work is given up, and is not taken for long") {
  const Cluster cluster = Cluster::blocked(Profile::guess(16, 4, 1e10), 64, 4);
  const Algorithm& windowed = *find_algorithm(Collective::alltoall, "windowed");
  const PredictedCall call{Collective::alltoall, 8192};
  PredictionLimits little_work;
  little_work.max_rate_updates = 100;
  const auto given_up = predict(call, windowed, {}, cluster, nullptr, little_work);
  REQUIRE(given_up);
  CHECK(std::isinf(given_up->seconds));
  CHECK(given_up->given_up);
  PredictionLimits little_time;
  little_time.max_seconds = 1e-6;
  const auto longer = predict(call, windowed, {}, cluster, nullptr, little_time);
  REQUIRE(longer);
  CHECK(std::isinf(longer->seconds));
  CHECK_FALSE(longer->given_up);
}

TEST_CASE("limits on work hold where shorter messages stand for long ones, too") {
  const Cluster cluster = Cluster::blocked(simple_profile(8, rate), 30, 4);
  const Choice choice = parse_choice(Collective::alltoall, "rotated:piece_bytes=1024");
  PredictionLimits limits;
  limits.max_rate_updates = 1000;
  const auto predicted =
      predict({Collective::alltoall, 1 << 20}, *choice.algorithm, choice.parameters, cluster, nullptr, limits);
  REQUIRE(predicted);
  CHECK(predicted->given_up);
}

TEST_CASE("how times grow is taken from themselves where they say it clearly") {
  const auto seen = [](double a, double b, double c, double d) { return growth_seen({{a, b, c, d}, 0, 64}); };
  REQUIRE(seen(1, 2, 4, 8));
  CHECK(seen(1, 2, 4, 8)->with_ranks);
  REQUIRE(seen(9.9, 10.1, 10, 10.1));
  CHECK_FALSE(seen(9.9, 10.1, 10, 10.1)->with_ranks);
  CHECK_FALSE(seen(1, 2, 3, 4));    // with each doubling, or with a node's ranks at first
  CHECK_FALSE(seen(1, 1, 20, 20));  // a jump
  CHECK_FALSE(growth_seen({{0, 0, 4, 8}, 2, 64}));
}
