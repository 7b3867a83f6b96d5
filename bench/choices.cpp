// SPDX-License-Identifier: Apache-2.0
/// How long choosing an algorithm takes: antiphon_bench_choices. Needs no MPI. Exits with 1 if it takes longer than it
/// may: a choice by rules 50 ns, since passing a call through may cost 100 ns in all; a prediction of every algorithm
/// at 16 and 256 ranks 60 s. Both limits are meant for an optimised build.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "antiphon/cost.hpp"
#include "antiphon/select.hpp"

namespace {

using namespace antiphon;

constexpr double most_choice_ns = 50;
constexpr double most_predictions_s = 60;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The best of several attempts: what else the machine does only adds to it.
double choice_ns() {
  const Rules& rules = Rules::defaults();
  constexpr int turns = 20000;
  double best_s = std::numeric_limits<double>::infinity();
  std::size_t found = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto begin = Clock::now();
    for (std::int64_t bytes = 0; bytes < turns; ++bytes)
      found +=
          rules.choose({Collective::alltoall, 16, 16, 1, bytes, 1, true, 100'000'000}).algorithm != nullptr ? 1 : 0;
    best_s = std::min(best_s, seconds_since(begin) / turns);
  }
  if (found == 0) std::puts("no algorithm was chosen");
  return best_s * 1e9;
}

/// One switch, whose ports carry 100 MB/s, and multicasts.
Profile plain_profile() {
  constexpr double bytes_per_s = 100e6;
  Profile profile;
  profile.link_classes = {
      {"plain", Scope::same_switch, 40e-6, Curve({{0, 0}}), Curve({{0, 0}}), Curve::line(20e-6, bytes_per_s)}};
  profile.topology.switches.push_back({"switch"});
  profile.topology.nodes.assign(16, {"", 0, bytes_per_s});
  profile.multicast = {true, 40e-6, Curve::line(20e-6, bytes_per_s), 100e-6};
  return profile;
}

double predictions_s() {
  const Profile profile = plain_profile();
  const auto begin = Clock::now();
  for (const Algorithm* algorithm : algorithms()) {
    for (const int ranks : {16, 256})
      (void)predict({algorithm->collective, 4096}, *algorithm, {}, Cluster::blocked(profile, ranks, 1));
  }
  return seconds_since(begin);
}

}  // namespace

int main() {
  const double by_rules_ns = choice_ns();
  std::printf("a choice by rules:                          %8.1f ns\n", by_rules_ns);
  const double by_model_s = predictions_s();
  std::printf("all algorithms' times at 16 and 256 ranks:  %8.2f s\n", by_model_s);
  return by_rules_ns <= most_choice_ns && by_model_s <= most_predictions_s ? 0 : 1;
}
