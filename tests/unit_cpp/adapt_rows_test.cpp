// SPDX-License-Identifier: Apache-2.0
// Ways that take turns in rows of calls that overlap: ranks with clocks of their own, a chain in which each is through
// with a call when it has passed it on, and a way in which all ranks wait for each other.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/adapt.hpp"

using namespace antiphon;

namespace {

constexpr int ranks = 16;
constexpr double hop_ns = 5e5;  ///< a chain's call takes this where calls overlap, and ranks × this alone
constexpr double sharing_ns = 4e5;

class Row {
 public:
  /// The chain is the way `chain`; a call in which ranks wait for each other takes `together_ns`.
  Row(int chain, double together_ns, std::uint64_t seed)
      : chain_(chain), together_ns_(together_ns), now_(ranks, 0), random_(seed) {
    for (int r = 0; r < ranks; ++r)
      turns_.push_back(
          Turns({.contenders = 2, .first_round = 8, .agreement_ns = std::int64_t{400'000}, .in_rows = true}));
  }

  /// Makes calls in a row; where a program waits for all ranks after each call, they do not overlap.
  void run(int calls, bool waits = false) {
    for (int i = 0; i < calls; ++i) {
      call();
      if (waits) std::fill(now_.begin(), now_.end(), *std::max_element(now_.begin(), now_.end()));
    }
  }

  [[nodiscard]] const Turns& turns() const { return turns_[0]; }
  [[nodiscard]] double taken_ns() const { return *std::max_element(now_.begin(), now_.end()); }

 private:
  void call() {
    const bool agreeing = agreed_at_ns_ > 0;
    const int way = agreeing ? turns_[0].in_use() : turns_[0].next();
    const std::vector<double> began = now_;
    for (std::size_t r = 0; agreeing && r < ranks; ++r) {
      if (now_[r] < agreed_at_ns_) until_agreed_[r] = meanwhile_;
    }
    if (way == chain_) chain();
    else std::fill(now_.begin(), now_.end(), *std::max_element(now_.begin(), now_.end()) + together_ns_ * noise());
    if (agreeing) {
      if (++meanwhile_ == conclude_at_) conclude();
      return;
    }
    bool due = false;
    for (std::size_t r = 0; r < ranks; ++r) {
      REQUIRE(turns_[r].next() == way);
      due = turns_[r].done(static_cast<std::int64_t>(now_[r] - began[r]));
    }
    if (due) share();
  }

  void chain() {
    double passed_on = 0;
    for (double& now : now_) now = passed_on = std::max(now, passed_on) + hop_ns * noise();
  }

  /// The ranks begin to agree; nobody waits yet.
  void share() {
    std::vector<std::int64_t> most(turns_[0].numbers().begin(), turns_[0].numbers().end());
    for (Turns& turns : turns_)
      for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], turns.numbers()[i]);
    for (Turns& turns : turns_) std::copy(most.begin(), most.end(), turns.numbers().begin());
    agreed_at_ns_ = *std::max_element(now_.begin(), now_.end()) + sharing_ns;
    meanwhile_ = 0;
    until_agreed_.assign(ranks, 0);
    conclude_at_ = std::max<std::uint64_t>(ranks, turns_[0].calls_to_agree());
  }

  void conclude() {
    for (std::size_t r = 0; r < ranks; ++r) {
      const double waits_ns = std::max(0.0, agreed_at_ns_ - now_[r]);
      now_[r] += waits_ns;
      turns_[r].take_in(static_cast<std::int64_t>(waits_ns) + 10'000, {meanwhile_, until_agreed_[r]});
    }
    agreed_at_ns_ = 0;
  }

  double noise() { return std::lognormal_distribution<>(0, 0.1)(random_); }

  int chain_;
  double together_ns_;
  std::vector<double> now_;
  std::vector<Turns> turns_;
  double agreed_at_ns_ = 0;  ///< 0: nothing is under way
  std::uint64_t meanwhile_ = 0;
  std::vector<std::uint64_t> until_agreed_;
  std::uint64_t conclude_at_ = 0;
  std::mt19937_64 random_;
};

/// Time of a chain whose ranks never wait for anything else.
double chain_alone_ns(int calls, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> now(ranks, 0);
  for (int i = 0; i < calls; ++i) {
    double passed_on = 0;
    for (double& t : now)
      t = passed_on = std::max(t, passed_on) + hop_ns * std::lognormal_distribution<>(0, 0.1)(random);
  }
  return now.back();
}

}  // namespace

TEST_CASE("calls in a row keep a way that lets them overlap, however long one call of it takes alone") {
  for (const int calls : {100, 768, 8000}) {
    double worst = 0;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      // A call alone takes half of a chain's.
      Row row(0, hop_ns * ranks / 2, seed);
      row.run(calls);
      CHECK(row.turns().in_use() == 0);
      worst = std::max(worst, row.taken_ns() / chain_alone_ns(calls, seed));
    }
    CHECK_MESSAGE(worst <= 1.02, calls, " calls");
  }
}

TEST_CASE("calls in a row move to the way that lets them overlap") {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Row row(1, hop_ns * ranks / 2, seed);
    row.run(3000);
    CHECK(row.turns().in_use() == 1);
    CHECK(row.turns().knows());
  }
}

TEST_CASE("where the program waits after each call, the way wins of which one call is the shortest") {
  Row row(0, hop_ns * ranks / 2, 3);
  row.run(2000, true);
  CHECK(row.turns().in_use() == 1);
}

TEST_CASE("rows on a shared core last longer than a rank's turns, and show its waits") {
  // By the contender a call takes less while the rank runs, but its core then goes to another rank for longer.
  constexpr double in_use_ns = 15e3, contender_ns = 12e3, turn_ns = 3e6;
  constexpr int turn_calls = 300;
  const auto way_after = [](double lasting_row_ns, int calls, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<int> ends(1, turn_calls);
    std::lognormal_distribution<> noise(0, 0.1);
    Turns turns({.contenders = 2,
                 .first_round = 250,
                 .agreement_ns = 200'000,
                 .in_rows = true,
                 .lasting_row_ns = lasting_row_ns});
    int contender_calls = 0;
    for (int i = 0; i < calls; ++i) {
      const bool contender = turns.next() == 1;
      contender_calls += contender ? 1 : 0;
      const double waits_ns = contender && ends(random) == 1 ? turn_ns : 0;
      const double ns = (contender ? contender_ns : in_use_ns) * noise(random) + waits_ns;
      if (turns.done(static_cast<std::int64_t>(ns))) turns.take_in(20'000, {10, 1});
    }
    CHECK(contender_calls > 0);
    return turns.in_use();
  };
  constexpr int calls = 4'000'000;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    CHECK(way_after(0, calls, seed) == 1);
    CHECK(way_after(1e7, calls, seed) == 0);
  }
}
