// SPDX-License-Identifier: Apache-2.0
// Many ranks go through streams of Alltoallv calls: they add up digests, gather rows only where that pays, and decide
// alike in every call.
#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/adapt.hpp"
#include "antiphon/known_patterns.hpp"
#include "phases/gathering.hpp"

using namespace antiphon;

namespace {

constexpr int large_ranks = 128;
constexpr int nodes = 16;
using Sizes = std::function<std::int64_t(int from, int to)>;

Fabric sixteen_nodes(double times_as_fast) {
  Fabric fabric;
  fabric.link_bytes_per_s *= times_as_fast;
  for (int r = 0; r < large_ranks; ++r) fabric.node_of_rank.push_back(r % nodes);
  return fabric;
}

/// Six neighbours each; every third rank sends much more than the others.
std::int64_t stencil(int from, int to, std::int64_t bytes) {
  const int distance = (to - from + large_ranks) % large_ranks;
  const bool near = distance == 1 || distance == 5 || distance == 22;
  const bool near_back = distance == large_ranks - 1 || distance == large_ranks - 5 || distance == large_ranks - 22;
  if (!near && !near_back) return 0;
  return from % 3 == 0 ? 4 * bytes : bytes;
}

Problem problem_of(const Sizes& sizes, int rank) {
  Problem p;
  p.collective = Collective::alltoallv;
  p.rank = rank;
  p.size = large_ranks;
  for (int i = 0; i < large_ranks; ++i) {
    p.send_bytes.push_back(sizes(rank, i));
    p.recv_bytes.push_back(sizes(i, rank));
  }
  return p;
}

/// What all ranks decide for a call.
struct Decided {
  bool digest = false, rows = false, short_one = false;
  std::optional<int> expected;
  bool scheduled = false;
};

class Many {
 public:
  explicit Many(double times_as_fast = 1) : fabric_(sixteen_nodes(times_as_fast)) {
    for (int r = 0; r < large_ranks; ++r) known_.emplace_back(r, large_ranks, fabric_);
  }

  void expect(const Pattern& pattern) {
    for (KnownPatterns& known : known_) known.expect(pattern);
  }

  Decided call(const Sizes& sizes) {
    std::vector<Problem> problems;
    for (int r = 0; r < large_ranks; ++r) problems.push_back(problem_of(sizes, r));
    for (KnownPatterns& known : known_) known.begin_call();
    Decided all;
    all.digest = known_[0].gathers();
    for (const KnownPatterns& known : known_) REQUIRE(known.gathers() == all.digest);
    if (all.digest) all.rows = agree(problems);
    for (int r = 0; r < large_ranks; ++r) known_[index(r)].note(problems[index(r)]);
    all.short_one = known_[0].leaves_to_library();
    if (const auto first = known_[0].expected()) all.expected = first->place;
    all.scheduled = known_[0].pattern().has_value();
    for (const KnownPatterns& known : known_) {
      REQUIRE(known.leaves_to_library() == all.short_one);
      REQUIRE(known.expected().has_value() == all.expected.has_value());
      if (all.expected) REQUIRE(known.expected()->place == *all.expected);
      REQUIRE(known.pattern().has_value() == all.scheduled);
      if (all.scheduled) REQUIRE(*known.pattern()->pattern == *known_[0].pattern()->pattern);
    }
    return all;
  }

  [[nodiscard]] const Pattern& expected() const { return *known_[0].expected()->pattern; }
  [[nodiscard]] std::size_t row_length() const { return known_[0].row_length(); }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  bool agree(const std::vector<Problem>& problems) {
    KnownPatterns::Digest sums{};
    for (int r = 0; r < large_ranks; ++r) {
      const auto own = known_[index(r)].digest(problems[index(r)]);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += own[i];
    }
    bool rows = false;
    for (int r = 0; r < large_ranks; ++r) {
      const bool wants = known_[index(r)].take_in_digest(sums);
      REQUIRE((r == 0 || wants == rows));
      rows = wants;
    }
    if (rows) gather(problems);
    return rows;
  }

  void gather(const std::vector<Problem>& problems) {
    const std::size_t length = row_length();
    std::vector<std::int64_t> all(length * large_ranks);
    for (int r = 0; r < large_ranks; ++r)
      known_[index(r)].tell(problems[index(r)], std::span(all).subspan(index(r) * length, length));
    for (KnownPatterns& known : known_) known.take_in(all);
  }

  Fabric fabric_;
  std::vector<KnownPatterns> known_;
};

Pattern pattern_of(const Sizes& sizes) {
  std::vector<std::int64_t> counts;
  for (int from = 0; from < large_ranks; ++from) {
    for (int to = 0; to < large_ranks; ++to) counts.push_back(sizes(from, to));
  }
  return Pattern::of_counts(large_ranks, counts);
}

const Sizes long_stencil = [](int from, int to) { return stencil(from, to, 65536); };

}  // namespace

TEST_CASE("large communicators: counts that come again are gathered once, and then found again by digests") {
  Many all;
  int gatherings = 0;
  int calls_before = 0;
  for (int c = 1; c <= 40; ++c) {
    CAPTURE(c);
    const Decided decided = all.call(long_stencil);
    gatherings += decided.rows ? 1 : 0;
    if (!decided.expected) ++calls_before;
    if (decided.rows) CHECK(all.row_length() == 8);
    if (decided.expected) CHECK(all.expected() == pattern_of(long_stencil));
  }
  CHECK(gatherings == 1);
  CHECK(calls_before <= 4);
}

TEST_CASE("large communicators: one rank with other counts is noticed by all") {
  Many all;
  for (int c = 1; c <= 10; ++c) all.call(long_stencil);
  const Sizes other = [](int from, int to) { return from == 77 && to == 3 ? 9'000'000 : stencil(from, to, 65536); };
  bool noticed = false;
  for (int c = 1; c <= 300 && !noticed; ++c) noticed = !all.call(other).expected;
  CHECK(noticed);
  // Before rows are gathered again the new counts must come again, too.
  bool known = false;
  for (int c = 1; c <= 300 && !known; ++c) known = all.call(other).expected.has_value();
  REQUIRE(known);
  CHECK(all.expected() == pattern_of(other));
}

TEST_CASE("large communicators: nothing is gathered where rows cost more than calls can pay, or counts never repeat") {
  Many brief(10);
  Many changing;
  for (int c = 1; c <= 60; ++c) {
    CHECK_FALSE(brief.call([](int from, int to) { return stencil(from, to, 5000); }).rows);
    CHECK_FALSE(changing.call([c](int from, int to) { return stencil(from, to, 65536) * (1 + (from + c) % 5); }).rows);
  }
}

TEST_CASE("large communicators: short messages of ranks that share their nodes are the library's") {
  Many all;
  for (int c = 1; c <= 20; ++c) CHECK(all.call([](int from, int to) { return from == to ? 0 : 1024; }).short_one);
  int left = 0;
  for (int c = 1; c <= 300; ++c) left += all.call(long_stencil).short_one ? 1 : 0;
  CHECK(left < 150);
}

TEST_CASE("large communicators: a pattern that all ranks have from elsewhere needs no rows") {
  Many all;
  all.expect(pattern_of([](int from, int to) { return stencil(to, from, 5000); }));
  all.expect(pattern_of(long_stencil));
  for (int c = 1; c <= 20; ++c) {
    const Decided decided = all.call(long_stencil);
    CHECK_FALSE(decided.rows);
    REQUIRE(decided.expected.has_value());
    CHECK(all.expected() == pattern_of(long_stencil));
  }
}

TEST_CASE("large communicators: whole rows hold all messages") {
  Many all;
  const Sizes dense = [](int from, int to) { return from == to ? 0 : std::int64_t{200000} + 1000 * (from % 7); };
  bool rows = false;
  for (int c = 1; c <= 10; ++c) {
    const Decided decided = all.call(dense);
    rows = rows || decided.rows;
    if (decided.expected) CHECK(all.expected() == pattern_of(dense));
  }
  CHECK(rows);
  CHECK(all.row_length() == large_ranks - 1);
}

TEST_CASE("large communicators: what gathering takes follows by arithmetic that is alike on all nodes") {
  Fabric fabric;
  fabric.latency_ns = 1'000'000'000;
  for (int size = 2; size <= 1000; ++size) {
    CAPTURE(size);
    CHECK(gathering_seconds(size, 0, fabric) == 1e-9 * 1e9 * log2_alike(size));
  }
}
