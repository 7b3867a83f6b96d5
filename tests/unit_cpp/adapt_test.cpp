// SPDX-License-Identifier: Apache-2.0
// Ways that take turns: the sequential test on streams of times whose truth is known, and ranks that stay alike.
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/adapt.hpp"
#include "near.hpp"

using namespace antiphon;

namespace {

constexpr double call_ns = 1e6;
constexpr std::int64_t agreement_ns = 50'000;

/// One collective of `ranks` ranks, each of which holds its own turns.
class Stream {
 public:
  explicit Stream(int ranks = 1, std::uint64_t seed = 1, double expected = 0, double expected_other = 0)
      : random_(seed) {
    const Turns::Terms terms{.contenders = 2,
                             .first_round = 8,
                             .agreement_ns = agreement_ns,
                             .expected_ns = call_ns * expected,
                             .expected_other_ns = call_ns * expected_other};
    ranks_.assign(static_cast<std::size_t>(ranks), Turns(terms));
  }

  /// Makes `calls` calls, in which the ways take these times, with lognormal noise and one outlier in a hundred.
  void run(int calls, double first, double second, double sigma = 0.25) {
    for (int i = 0; i < calls; ++i) {
      const int way = ranks_[0].next();
      if (way == 1) ++second_;
      const double time = way == 0 ? first : second;
      if (way != ranks_[0].in_use()) lost_ += std::max(0.0, time - (way == 0 ? second : first));
      taken_ += time;
      call(time, sigma);
    }
  }

  [[nodiscard]] const Turns& turns() const { return ranks_[0]; }
  [[nodiscard]] int second() const { return second_; }  ///< calls that went the second way
  [[nodiscard]] double lost() const { return lost_ / taken_; }

 private:
  void call(double time, double sigma) {
    bool due = false;
    const int way = ranks_[0].next();
    for (Turns& turns : ranks_) {
      REQUIRE(turns.next() == way);
      const bool outlier = sigma > 0.1 && random_() % 100 == 0;
      const double noise = std::lognormal_distribution<>(0, sigma)(random_) * (outlier ? 20 : 1);
      due = turns.done(static_cast<std::int64_t>(call_ns * time * noise));
    }
    if (due) agree();
  }

  void agree() {
    lost_ += agreement_ns / call_ns;
    std::vector<std::int64_t> most(ranks_[0].numbers().begin(), ranks_[0].numbers().end());
    for (Turns& turns : ranks_) {
      REQUIRE(turns.numbers().size() == most.size());
      for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], turns.numbers()[i]);
    }
    for (Turns& turns : ranks_) {
      std::copy(most.begin(), most.end(), turns.numbers().begin());
      turns.take_in(agreement_ns + static_cast<std::int64_t>(random_() % 1000));
    }
  }

  std::vector<Turns> ranks_;
  std::mt19937_64 random_;
  int second_ = 0;
  double lost_ = 0;
  double taken_ = 0;
};

}  // namespace

TEST_CASE("logarithms that are alike everywhere are logarithms") {
  for (const double value : {1e-3, 0.5, 1.0, 1.5, 1.999999, 2.0, 3.0, 1e6, 3.6e14}) {
    CHECK(log2_alike(value) == near(std::log2(value), 1e-12));
    CHECK(exp2_alike(log2_alike(value)) == near(value, 1e-12));
  }
}

TEST_CASE("size classes have two in each power of two, and hold their sizes") {
  for (std::int64_t bytes = 1; bytes < 5000; ++bytes) {
    const SizeClass c = SizeClass::of(bytes);
    CHECK((c.least <= bytes && bytes <= c.most));
    CHECK(SizeClass::of(c.most) == c);
    CHECK(SizeClass::of(c.most + 1).least == c.most + 1);
  }
  CHECK(SizeClass::of(65536) == SizeClass{65536, 98303});
  CHECK(SizeClass::of(-1) == SizeClass{-1, -1});
}

TEST_CASE("pairs tell which way is faster, and equal ways are rarely told apart") {
  using Verdict = PairedTest::Verdict;
  std::mt19937_64 random(7);
  std::normal_distribution<> noise(0, 0.44);
  const auto verdict_for = [&](double octaves) {
    PairedTest test;
    while (test.verdict() == Verdict::open) test.add(octaves + noise(random));
    return test.verdict();
  };
  int faster = 0;
  for (int i = 0; i < 400; ++i) {
    CHECK(verdict_for(1.0) == Verdict::slower);
    faster += verdict_for(-1.0) == Verdict::faster ? 1 : 0;
    CHECK(faster + 12 > i);
  }
  int wrong = 0;
  for (int i = 0; i < 400; ++i) wrong += verdict_for(0.03) == Verdict::faster ? 1 : 0;
  CHECK(wrong < 16);
}

TEST_CASE("a change is seen within a few calls, an outlier is none") {
  std::mt19937_64 random(3);
  std::normal_distribution<> noise(20, 0.36);
  ChangeWatch watch;
  for (int i = 0; i < 2000; ++i) REQUIRE_FALSE(watch.add(i % 50 == 49 ? 24.3 : noise(random)));
  int calls = 1;
  while (!watch.add(2 + noise(random))) ++calls;
  CHECK(calls <= 8);
}

TEST_CASE("rare calls are never tried") {
  Stream stream;
  stream.run(50, 1, 0.5);
  CHECK(stream.second() == 0);
}

TEST_CASE("where calls take much longer than expected, the other way is tried soon") {
  Stream stream(1, 5, 0.125);
  stream.run(50, 1, 0.4);
  CHECK(stream.turns().in_use() == 1);
  Stream as_expected(1, 5, 1);
  as_expected.run(50, 1, 0.4);
  CHECK(as_expected.second() == 0);
}

TEST_CASE("what is expected to be faster than what is measured is tried soon, and given up soon if it is not") {
  Stream faster(1, 6, 0, 0.5);
  faster.run(50, 1, 0.5);
  CHECK(faster.turns().in_use() == 1);
  Stream slower(1, 6, 0, 0.5);
  slower.run(1000, 1, 2);
  CHECK(slower.turns().in_use() == 0);
  CHECK(slower.lost() < 0.02);
}

TEST_CASE("the faster way is found, with or without noise") {
  for (const double sigma : {0.01, 0.25}) {
    CAPTURE(sigma);
    Stream stream(1, 11);
    stream.run(600, 1, 0.6, sigma);
    CHECK(stream.turns().in_use() == 1);
    CHECK(stream.turns().knows());
    CHECK(stream.turns().shown(0).verdict == PairedTest::Verdict::slower);
    CHECK(stream.turns().shown(0).seconds / stream.turns().shown(0).in_use_seconds == near(1 / 0.6, 0.4));
  }
}

TEST_CASE("a slower way costs at most 2 % of the time") {
  for (const double ratio : {1.05, 1.25, 1.6, 2.5}) {
    for (const int calls : {60, 130, 300, 1000, 5000}) {
      double lost = 0;
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Stream stream(1, seed);
        stream.run(calls, 1, ratio);
        lost += stream.lost() / 20;
      }
      CHECK_MESSAGE(lost <= 0.02, ratio, " times as slow, ", calls, " calls");
    }
  }
}

TEST_CASE("when the network has changed, the choice follows within 50 calls") {
  int in_time = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Stream stream(1, seed);
    stream.run(600, 1, 1.5, 0.05);
    REQUIRE(stream.turns().in_use() == 0);
    stream.run(50, 6, 4, 0.05);
    in_time += stream.turns().in_use() == 1 ? 1 : 0;
  }
  CHECK(in_time == 20);
}

TEST_CASE("ranks whose times differ stay alike") {
  Stream stream(5, 23);
  stream.run(1500, 1, 0.9);
  stream.run(500, 2, 4);
  stream.run(1500, 1, 0.5);
  CHECK(stream.turns().in_use() == 1);
}

TEST_CASE("a way that cannot do the calls is given up") {
  Turns turns({.contenders = 2, .first_round = 8, .agreement_ns = 1000});
  int tried = 0;
  for (int i = 0; i < 20000; ++i) {
    const bool second = turns.next() == 1;
    tried += second ? 1 : 0;
    if (turns.done(second ? Turns::no_time : 1'000'000)) turns.take_in(1000);
  }
  CHECK(tried > 0);
  CHECK(tried < 20);
  CHECK(turns.in_use() == 0);
}

TEST_CASE("where ranks cannot agree, nothing is concluded") {
  Turns turns({.contenders = 2, .first_round = 8, .agreement_ns = 1000});
  for (int i = 0; i < 5000; ++i) {
    REQUIRE(turns.next() == 0);
    if (turns.done(1'000'000)) turns.skip();
  }
  CHECK_FALSE(turns.knows());
}

TEST_CASE("times may follow later, and what a rank does not know counts on no rank") {
  const auto way_after = [](bool known) {
    Turns turns({.contenders = 2, .first_round = 8, .agreement_ns = 1000});
    std::vector<std::int64_t> times;
    for (int i = 0; i < 600; ++i) {
      if (turns.timed()) times.push_back(turns.next() == 1 ? 500'000 : 1'000'000);
      if (!turns.done(Turns::no_time)) continue;
      for (std::size_t n = 0; n < times.size(); ++n) turns.set_time(n, known ? std::optional(times[n]) : std::nullopt);
      times.clear();
      turns.take_in(1000);
    }
    return turns.in_use();
  };
  CHECK(way_after(true) == 1);
  CHECK(way_after(false) == 0);
}

TEST_CASE("what was broken off goes on with what was known, and is told apart from what knows less") {
  Turns turns({.contenders = 2, .first_round = 8, .agreement_ns = 1000});
  const auto run = [](Turns& some, int calls) {
    for (int i = 0; i < calls; ++i) {
      if (some.done(some.next() == 1 ? 500'000 : 1'000'000)) some.take_in(1000);
    }
  };
  run(turns, 403);
  REQUIRE(turns.in_use() == 1);
  Turns other = turns;
  CHECK(other.fingerprint() == turns.fingerprint());
  Turns fresh({.contenders = 2, .first_round = 8, .agreement_ns = 1000});
  run(fresh, 8);
  other.resume(fresh);
  CHECK(other.in_use() == 1);
  CHECK(other.knows());
  run(other, 400);
  CHECK(other.in_use() == 1);
  CHECK(other.fingerprint() != turns.fingerprint());
  CHECK(other.fingerprint() > 0);
}
