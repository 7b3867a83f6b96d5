// SPDX-License-Identifier: Apache-2.0
#include "../../bench/collectives/turns.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>

TEST_CASE("contenders of a benchmark: each begins a round, and a round's bursts all come after the same") {
  struct Contender {
    std::string label;
  };
  std::vector<Contender> contenders{{"library"}, {"chain"}, {"ring"}};
  std::map<std::string, std::vector<std::pair<bool, int>>> before;
  std::vector<std::string> order;
  const auto turn = [&](const Contender& contender, int round) {
    const bench::Interlude interlude = bench::interlude_of(round);
    before[contender.label].emplace_back(interlude.sends, interlude.pause_ms);
    order.push_back(contender.label);
  };
  bench::take_turns(contenders, turn, [](int rounds) { return rounds < 3; });
  CHECK(before["chain"] == before["library"]);
  CHECK(before["ring"] == before["library"]);
  const auto& rounds = before["library"];
  REQUIRE(rounds.size() == 3);
  CHECK((!rounds[0].first && rounds[1].first && !rounds[2].first));
  CHECK(rounds[0].second != rounds[2].second);
  CHECK(order ==
        std::vector<std::string>{"library", "chain", "ring", "chain", "ring", "library", "ring", "library", "chain"});
}
