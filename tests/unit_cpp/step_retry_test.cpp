// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <doctest/doctest.h>

#include "antiphon/step_retry.hpp"

using namespace antiphon;

TEST_CASE("after a pause of the machine all ranks are soon in step again, and stay so") {
  // Ranks in step lose their patience when another one is free.
  std::array<StepRetry, 16> ranks;
  int calls_not_in_step = 0;
  for (int call = 0; call < 200; ++call) {
    std::array<bool, 16> in_step{};
    for (std::size_t i = 0; i < ranks.size(); ++i) in_step[i] = ranks[i].begin();
    const bool all = std::all_of(in_step.begin(), in_step.end(), [](bool b) { return b; });
    calls_not_in_step += all ? 0 : 1;
    const bool paused = call == 9 || call == 100;
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].end(in_step[i] && (!all || (paused && i == 5)));
  }
  CHECK(calls_not_in_step == 0);
}

TEST_CASE("ranks that were lost one after the other are soon in step again") {
  std::array<StepRetry, 16> ranks;
  int last_call_apart = -1;
  for (int call = 0; call < 200; ++call) {
    std::array<bool, 16> in_step{};
    for (std::size_t i = 0; i < ranks.size(); ++i) in_step[i] = ranks[i].begin();
    const bool all = std::all_of(in_step.begin(), in_step.end(), [](bool b) { return b; });
    if (!all) last_call_apart = call;
    const auto paused = static_cast<std::size_t>(call) - 9;  // one rank after the other
    for (std::size_t i = 0; i < ranks.size(); ++i)
      ranks[i].end(in_step[i] && (!all || (paused < 8 && i == paused % 3)));
  }
  CHECK(last_call_apart > 9);
  CHECK(last_call_apart < 64);
}

TEST_CASE("a pattern in which phases never work is tried more and more rarely") {
  StepRetry rank;
  int tries = 0;
  for (int call = 0; call < 5000; ++call) {
    const bool in_step = rank.begin();
    tries += in_step ? 1 : 0;
    rank.end(in_step);
  }
  CHECK(tries > 5);
  CHECK(tries < 30);
  rank.forget();
  CHECK(rank.begin());
}
