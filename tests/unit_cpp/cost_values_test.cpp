// SPDX-License-Identifier: Apache-2.0
// The search for parameters: it knows values of every parameter, and follows the concurrency that was measured.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "antiphon/error.hpp"
#include "cost/values.hpp"
#include "cost_clusters.hpp"
#include "most_ranks.hpp"
#include "near.hpp"

using namespace antiphon;

namespace {

constexpr std::int64_t call_bytes = 65536;

const Parameter& parameter_of(const Algorithm& algorithm, std::string_view wanted) {
  for (const Parameter& p : algorithm.parameters) {
    if (p.name == wanted) return p;
  }
  throw InvalidArgument("no parameter of that name");
}

Profile with_concurrency(int index, double ratio) {
  Profile profile = simple_profile(8, rate);
  profile.concurrency = {index, ratio, 1.0};
  return profile;
}

std::int64_t value_of(const RankedChoice& choice, std::string_view wanted) {
  for (const ParameterValue& p : choice.parameters) {
    if (p.name == wanted) return p.value;
  }
  return -1;
}

using Values = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("the search has values to try for every parameter of every algorithm") {
  const Cluster cluster = Cluster::blocked(simple_profile(8, rate), 8, 1);
  for (const Algorithm* algorithm : algorithms()) {
    const PredictedCall call{algorithm->collective, call_bytes, 0, 8};
    for (const Parameter& p : algorithm->parameters) {
      CAPTURE(std::string(name(algorithm->collective)) + ":" + std::string(algorithm->name) + " " +
              std::string(p.name));
      const Values values = values_to_try(p, call, cluster);
      CHECK(values.size() >= 2);
      CHECK(std::find(values.begin(), values.end(), p.default_value) != values.end());
      for (const std::int64_t value : values) CHECK((value >= p.min && value <= p.max));
      CHECK(name(p.role) != "");
    }
  }
}

TEST_CASE("no algorithm has two parameters for its pieces, for ranks served at once, or for leaders") {
  for (const Algorithm* algorithm : algorithms()) {
    CAPTURE(std::string(name(algorithm->collective)) + ":" + std::string(algorithm->name));
    const auto& all = algorithm->parameters;
    for (const Role role : {Role::piece, Role::at_once, Role::leaders})
      CHECK(std::count_if(all.begin(), all.end(), [role](const Parameter& p) { return p.role == role; }) <= 1);
  }
}

TEST_CASE("all ways of a mode are tried, and a border below, at and above the blocks") {
  const Cluster cluster = Cluster::blocked(simple_profile(8, rate), 8, 1);
  const Algorithm& rotated = *find_algorithm(Collective::alltoall, "rotated");
  const PredictedCall call{Collective::alltoall, call_bytes};
  CHECK(values_to_try(parameter_of(rotated, "sync"), call, cluster) == Values{0, 1, 2});
  CHECK(values_to_try(parameter_of(rotated, "token_bytes"), call, cluster) ==
        Values{0, call_bytes, 8 * call_bytes, 32768});
}

TEST_CASE("the concurrency index that was measured bounds how many ranks are served at once") {
  const Algorithm& flat = *find_algorithm(Collective::scatter, "flat");
  const auto values = [&](const Profile& profile, std::int64_t bytes = call_bytes) {
    const PredictedCall call{Collective::scatter, bytes};
    return values_to_try(parameter_of(flat, "destinations"), call, Cluster::blocked(profile, 8, 1));
  };
  CHECK(values(simple_profile(8, rate)) == Values{1, 2, 4});
  CHECK(values(with_concurrency(1, 2.2)) == Values{1, 2});
  CHECK(values(with_concurrency(4, 1.1)) == Values{4, 1, 2, 8});
  CHECK(values(with_concurrency(1, 2.2), 1024) == Values{1, 2, 4});
}

TEST_CASE("what the model says of ranks served at once does not contradict the measurement") {
  // Ports are shared without loss in the model, so two at once never look worse than one after the other.
  const PredictedCall call{Collective::scatter, call_bytes};
  const Algorithm& flat = *find_algorithm(Collective::scatter, "flat");
  const auto best = [&](const Profile& profile) {
    const auto found = best_parameters(call, flat, Cluster::blocked(profile, 8, 1));
    REQUIRE(found);
    return value_of(*found, "destinations");
  };
  CHECK(best(with_concurrency(4, 1.1)) == 4);
  CHECK(best(with_concurrency(1, 20)) == 1);
}

TEST_CASE("a search stays within its number of evaluations") {
  const Cluster cluster = Cluster::blocked(simple_profile(8, rate), 8, 1);
  const PredictedCall call{Collective::alltoall, call_bytes};
  const Algorithm& rotated = *find_algorithm(Collective::alltoall, "rotated");
  const auto one = best_parameters(call, rotated, cluster, {true, 1});
  REQUIRE(one);
  CHECK(one->parameters == resolve_parameters(rotated, {}));
  const auto many = best_parameters(call, rotated, cluster);
  REQUIRE(many);
  CHECK(many->seconds <= one->seconds);
}

TEST_CASE("messages that nobody asks for are not tried beyond what the network holds") {
  Profile profile = simple_profile(8, rate);
  profile.contention.credit_bytes = 4 * 65536;
  const Cluster cluster = Cluster::blocked(profile, 8, 1);
  const Algorithm& flat = *find_algorithm(Collective::gather, "flat");
  const auto reaches = [&](std::int64_t bytes) {
    const PredictedCall call{Collective::gather, bytes};
    const auto varied = variations(call, flat, resolve_parameters(flat, {}), cluster);
    return std::any_of(varied.begin(), varied.end(), [&](const Parameters& parameters) {
      return std::any_of(parameters.begin(), parameters.end(),
                         [&](const ParameterValue& p) { return p.name == "eager_bytes" && p.value >= bytes; });
    });
  };
  CHECK(reaches(8192));
  CHECK_FALSE(reaches(65536));
}

TEST_CASE("several leaders of a node keep within the credit together, each with its part of the message") {
  Profile profile = simple_profile(8, rate);
  profile.contention.credit_bytes = 65536;
  const Cluster cluster = Cluster::blocked(profile, 32, 4);
  const Algorithm& nested = *find_algorithm(Collective::bcast, "nested");
  const auto keeps = [&](std::int64_t bytes, std::int64_t leaders, std::int64_t window) {
    const Parameters parameters =
        resolve_parameters(nested, {{"lanes", leaders}, {"segment_bytes", 8192}, {"window", window}});
    return within_credit(nested, parameters, {Collective::bcast, bytes}, cluster);
  };
  CHECK(keeps(1 << 20, 1, 8));
  CHECK(keeps(1 << 20, 4, 2));
  CHECK_FALSE(keeps(1 << 20, 4, 4));
  CHECK(keeps(16384, 4, 4));  // each has 4 KiB
}

TEST_CASE("with few evaluations, a nested schedule still has the best of its ways among nodes") {
  if (few_ranks()) return;
  const Profile profile = Profile::guess(64, 32, 25e9);
  const Cluster cluster = Cluster::blocked(profile, 2048, 32);
  const PredictedCall call{Collective::bcast, call_bytes};
  const Algorithm& nested = *find_algorithm(Collective::bcast, "nested");
  const auto as_usual = best_parameters(call, nested, cluster, {.parameters = false});
  const auto best = best_parameters(call, nested, cluster, {.parameters = true, .max_evaluations = 1});
  REQUIRE(as_usual);
  REQUIRE(best);
  CHECK(value_of(*as_usual, "lanes") == 1);
  CHECK(value_of(*best, "lanes") > 1);
  CHECK(best->seconds < 0.5 * as_usual->seconds);
}

TEST_CASE("whether one connection fills a port is asked of a link between nodes, however ranks are dealt to them") {
  Profile profile = Profile::guess(16, 3, 10e9);
  HostFacts facts;
  facts.connection_bits_per_s = 2'000'000'000;
  profile.refine_guess(facts);
  // The last of 33 ranks is on the first one's node.
  for (const int ranks : {32, 33, 34, 48}) {
    CAPTURE(ranks);
    const Cluster dealt = Cluster::round_robin(profile, ranks, 16);
    CHECK(measured_port_share(dealt) == near(0.2, 0.05));
    CHECK(lanes_of(Collective::scatter, dealt) == 5);
  }
  CHECK(Cluster::blocked(profile, 3, 3).longest_link().scope == Scope::node);
}
