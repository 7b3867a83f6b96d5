// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cost_clusters.hpp"

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
      CHECK(one == doctest::Approx(all).epsilon(per_node == 1 ? 0.001 : 0.05));
    }
  }
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

TEST_CASE("a prediction for every algorithm, also for many ranks") {
  Profile profile = simple_profile(16, rate);
  profile.multicast = {true, 40e-6, Curve::line(20e-6, rate), 100e-6};
  for (const Algorithm* a : algorithms()) {
    CAPTURE(a->name);
    const int per_node = a->levels ? 2 : 1;
    const auto few = predict({a->collective, 4096}, *a, {}, Cluster::blocked(profile, 16, per_node));
    REQUIRE(few);
    CHECK(few->seconds > 0);
    const auto many = predict({a->collective, 4096}, *a, {}, Cluster::blocked(profile, 256, per_node));
    if (many) CHECK(many->seconds > few->seconds * (a->multicasts ? 0.99 : 1));  // one copy on the wire, for any P
  }
}

TEST_CASE("extrapolated from fewer ranks: as evaluated, within a few per cent") {
  const Profile profile = simple_profile(16, rate);
  for (const char* name : {"chain", "flat", "binomial"}) {
    const Choice choice = parse_choice(Collective::bcast, name);
    const Cluster cluster = Cluster::blocked(profile, 2000, 1);
    const double extrapolated =
        predict_from_fewer_ranks({Collective::bcast, 65536}, *choice.algorithm, choice.parameters, cluster);
    std::vector<Schedule> schedules;
    for (int r = 0; r < cluster.ranks(); ++r) {
      schedules.push_back(choice.algorithm->build(
          problem_of({Collective::bcast, 65536}, r, cluster.ranks(), *choice.algorithm, choice.parameters)));
    }
    const double all = seconds(schedules, cluster);
    CHECK(extrapolated == doctest::Approx(all).epsilon(0.05));
  }
}

TEST_CASE("many flows that hang together: given up, and extrapolated from what takes less") {
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
  CHECK(prediction->seconds == doctest::Approx(all.seconds).epsilon(0.1));
}

TEST_CASE("the model ranks all algorithms and chooses the first") {
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
