// SPDX-License-Identifier: Apache-2.0
// Goes through streams of Alltoallv calls as all ranks do: what each decides must be the same in every call, and where
// counts nearly repeat, the simulated network must be nearly as fast as its links.
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "antiphon/known_patterns.hpp"
#include "credit_network.hpp"

using namespace antiphon;

namespace {

using Counts = std::vector<std::int64_t>;  ///< [from · size + to]
/// Returns the counts of a call; calls count from 1.
using Stream = std::function<Counts(int call)>;

constexpr int ranks = 16;
constexpr auto cells = static_cast<std::size_t>(ranks * ranks);

/// Random numbers that depend on where and when only.
std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t x = a * 0x9E3779B97F4A7C15 + b * 0xBF58476D1CE4E5B9 + c * 0x94D049BB133111EB + 1;
  for (int i = 0; i < 3; ++i) {
    x = (x ^ (x >> 31)) * 0xD6E8FEB86659FD93;
  }
  return x ^ (x >> 32);
}

Counts make_counts(const std::function<std::int64_t(int from, int to)>& bytes) {
  Counts counts(cells);
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) counts[static_cast<std::size_t>(from * ranks + to)] = bytes(from, to);
  }
  return counts;
}

/// 4096 keys of 4 bytes for everybody, 3 % more or less, as in NAS IS of class W.
Counts sort_keys(std::uint64_t seed) {
  return make_counts([seed](int from, int to) {
    const auto at = static_cast<std::uint64_t>(from * ranks + to);
    return 4 * (4096 - 120 + static_cast<std::int64_t>(mix(seed, at, 0) % 241));
  });
}

/// Sizes from 0 to 64 KiB, all as likely.
Counts random_counts(std::uint64_t seed) {
  return make_counts([seed](int from, int to) {
    return static_cast<std::int64_t>(mix(seed, static_cast<std::uint64_t>(from * ranks + to), 1) % 65536);
  });
}

/// A few ranks have most of the bytes.
Counts power_law(std::uint64_t seed) {
  return make_counts([seed](int from, int to) {
    const auto shift = static_cast<int>(seed);
    return std::int64_t{400000} / (1 + (from + shift) % ranks + (to + 2 * shift) % ranks);
  });
}

/// In each call a few counts differ from the call before by one key.
Counts by_a_key(Counts counts, int call) {
  for (int i = 0; call > 2 && i < 4; ++i) {
    const auto at = mix(static_cast<std::uint64_t>(call), static_cast<std::uint64_t>(i), 2) % cells;
    counts[at] = std::max<std::int64_t>(0, counts[at] + (i % 2 == 0 ? 4 : -4));
  }
  return counts;
}

/// Every count differs by up to 3 %.
Counts by_little(Counts counts, int call) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto percent = static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(call), i, 3) % 7) - 3;
    counts[i] += counts[i] * percent / 100;
  }
  return counts;
}

Counts grown(Counts counts, int call) {
  for (std::int64_t& bytes : counts) {
    for (int i = 1; i < call; ++i) bytes += bytes / 20;
  }
  return counts;
}

Problem problem_of(const Counts& counts, int rank) {
  Problem p;
  p.collective = Collective::alltoallv;
  p.rank = rank;
  p.size = ranks;
  for (int i = 0; i < ranks; ++i) {
    p.send_bytes.push_back(counts[static_cast<std::size_t>(rank * ranks + i)]);
    p.recv_bytes.push_back(counts[static_cast<std::size_t>(i * ranks + rank)]);
  }
  return p;
}

struct Followed {
  bool schedule = false;
  std::uint64_t number = 0;
  bool gathers = false;
};

/// All ranks, each with what it knows, and the gatherings between them.
class Ranks {
 public:
  explicit Ranks(Fabric fabric = {}) : fabric_(std::move(fabric)) {
    known_.reserve(ranks);
    for (int r = 0; r < ranks; ++r) known_.emplace_back(r, ranks, fabric_);
  }

  /// Goes through one call; requires that all decide alike.
  Followed call(const Counts& counts) {
    problems.clear();
    for (int r = 0; r < ranks; ++r) problems.push_back(problem_of(counts, r));
    for (KnownPatterns& known : known_) known.begin_call();
    take_in();
    Followed result;
    result.gathers = known_[0].gathers();
    for (const KnownPatterns& known : known_) REQUIRE(known.gathers() == result.gathers);
    if (result.gathers) gather();
    if (known_[0].waits()) take_in();
    for (int r = 0; r < ranks; ++r) known_[static_cast<std::size_t>(r)].note(problems[static_cast<std::size_t>(r)]);
    const auto first = known_[0].pattern();
    for (const KnownPatterns& known : known_) {
      const auto other = known.pattern();
      REQUIRE(other.has_value() == first.has_value());
      if (!first) continue;
      REQUIRE(other->number == first->number);
      REQUIRE(other->place == first->place);
      REQUIRE(*other->pattern == *first->pattern);
      REQUIRE(known.leaves_to_library() == known_[0].leaves_to_library());
    }
    result.schedule = first.has_value();
    if (first) result.number = first->number;
    if (first && advised_ != first->number) {
      const CompiledPattern compiled = compile_pattern(*first->pattern, fabric_);
      advice_.clear();
      for (int r = 0; r < ranks; ++r) advice_.emplace_back(compiled, r);
      advised_ = first->number;
    }
    ways.clear();
    for (int r = 0; r < ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      ways.push_back(first ? advice_[i].way_for(problems[i]) : Way{{}, true});
    }
    return result;
  }

  /// Leaves a call of so many bytes a rank to the library, if all agree.
  bool pass(std::int64_t sent_bytes) {
    bool all = true;
    for (int r = 0; r < ranks; ++r) {
      const bool passes = known_[static_cast<std::size_t>(r)].pass(sent_bytes);
      REQUIRE((r == 0 || passes == all));
      all = passes;
    }
    return all;
  }
  [[nodiscard]] bool leaves_to_library() const { return known_[0].leaves_to_library(); }
  [[nodiscard]] std::int64_t mean_bytes() const { return known_[0].mean_bytes(); }

  /// The last call's time, over that of the busiest link.
  double times_the_limit(const Counts& counts) {
    const double limit_s = lower_bound(Pattern::of_counts(ranks, counts), fabric_).seconds;
    const double seconds = network.run(problems, ways);
    REQUIRE(seconds > 0);
    return seconds / limit_s;
  }

  std::vector<Problem> problems;
  std::vector<Way> ways;
  CreditNetwork network{ranks};

 private:
  void gather() {
    const std::size_t length = known_[0].row_length();
    rows_.assign(length * ranks, 0);
    for (int r = 0; r < ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      known_[i].tell(problems[i], std::span(rows_).subspan(i * length, length));
    }
    under_way_ = true;
  }
  void take_in() {
    if (!under_way_) return;
    for (KnownPatterns& known : known_) known.take_in(rows_);
    under_way_ = false;
  }

  Fabric fabric_;
  std::vector<KnownPatterns> known_;
  std::vector<std::int64_t> rows_;
  bool under_way_ = false;
  std::vector<Advice> advice_;
  std::uint64_t advised_ = 0;
};

struct KindOfStream {
  std::string name;
  Stream stream;
  double most = 0;  ///< times the limit from the third call on, and from the tenth after a change, at most; 0: any
  int change = 0;   ///< the call at which the stream changes; 0: none
};

Stream changing_at(int call, const Stream& before, const Stream& after) {
  return [=](int c) { return c < call ? before(c) : after(c); };
}

/// A pattern that few ranks dominate is as far from its limit in this network, if it is equal each time.
constexpr double skewed_most = 1.6;

std::vector<KindOfStream> kinds_of_stream() {
  const Stream even = [](int) { return sort_keys(1); };
  const Stream uneven = [](int) { return random_counts(1); };
  const Stream skewed = [](int) { return power_law(0); };
  std::vector<KindOfStream> all{
      {"even, equal", even, 1.15},
      {"even, by a key", [](int c) { return by_a_key(sort_keys(1), c); }, 1.15},
      {"even, by little", [](int c) { return by_little(sort_keys(1), c); }, 1.15},
      {"even, another each time", [](int c) { return sort_keys(static_cast<std::uint64_t>(c)); }, 1.15},
      {"even, growing", [](int c) { return grown(sort_keys(1), c); }, 1.15},
      {"uneven, equal", uneven, 1.15},
      {"uneven, by a key", [](int c) { return by_a_key(random_counts(1), c); }, 1.15},
      {"uneven, by little", [](int c) { return by_little(random_counts(1), c); }, 1.15},
      {"uneven, another each time", [](int c) { return random_counts(static_cast<std::uint64_t>(c)); }},
      {"uneven, growing", [](int c) { return grown(random_counts(1), c); }, 1.2},
      {"skewed, equal", skewed, skewed_most},
      {"skewed, by little", [](int c) { return by_little(power_law(0), c); }, skewed_most},
      {"two in turns", [](int c) { return c % 2 == 0 ? random_counts(1) : sort_keys(1); }},
      {"three in turns",
       [](int c) { return c % 3 == 2 ? sort_keys(1) : random_counts(static_cast<std::uint64_t>(c % 3)); }},
  };
  for (const int call : {3, 10, 100}) {
    const std::string from = " from call " + std::to_string(call);
    all.push_back({"even, uneven" + from, changing_at(call, even, uneven), 1.15, call});
    all.push_back({"uneven, even" + from, changing_at(call, uneven, even), 1.15, call});
    all.push_back({"uneven, skewed" + from, changing_at(call, uneven, skewed), skewed_most, call});
  }
  return all;
}

/// Tells whether to look at the time of this call: a few show how fast a stream is.
bool is_timed(const KindOfStream& one, int call) {
  if (one.change == 0) return call == 3 || call == 6;
  return call == one.change + 6 || (call == 6 && one.change > 6);
}

}  // namespace

TEST_CASE("known patterns: all ranks decide alike, and what nearly repeats is nearly as fast as the links") {
  for (const KindOfStream& one : kinds_of_stream()) {
    CAPTURE(one.name);
    Ranks all;
    for (int c = 1; c <= std::max(24, one.change + 10); ++c) {
      CAPTURE(c);
      const Counts counts = one.stream(c);
      all.call(counts);
      if (one.most == 0 || !is_timed(one, c)) continue;
      CHECK(all.times_the_limit(counts) <= one.most);
    }
  }
}

TEST_CASE("known patterns: those that take turns are each gone through in their own phases") {
  for (const int period : {2, 3, 4}) {
    CAPTURE(period);
    Ranks all;
    std::map<int, std::uint64_t> numbers;
    for (int c = 1; c <= 80; ++c) {
      const int turn = c % period;
      // The last of them is even, so that rotated phases are as good.
      const Counts counts = by_little(turn == 0 ? sort_keys(1) : random_counts(static_cast<std::uint64_t>(turn)), c);
      const Followed followed = all.call(counts);
      if (c <= 60) continue;
      CAPTURE(c);
      CHECK(followed.schedule == (turn != 0));
      if (numbers.count(turn) == 0) numbers[turn] = followed.number;
      CHECK(numbers[turn] == followed.number);
    }
    CHECK(numbers.size() == static_cast<std::size_t>(period));
  }
}

TEST_CASE("known patterns: short messages of ranks that share their nodes are the library's") {
  const auto all_send = [](std::int64_t bytes) {
    return make_counts([bytes](int from, int to) { return from == to ? 0 : bytes; });
  };
  Fabric shared;
  for (int r = 0; r < ranks; ++r) shared.node_of_rank.push_back(r % 4);
  const auto left_of = [&](Ranks& all, std::int64_t bytes, int calls) {
    int left = 0;
    for (int c = 0; c < calls; ++c) {
      if (!all.pass((ranks - 1) * bytes)) all.call(all_send(bytes));
      left += all.leaves_to_library() ? 1 : 0;
    }
    return left;
  };
  Ranks on_nodes(shared);
  CHECK(left_of(on_nodes, 8192, 300) == 300);
  CHECK(on_nodes.mean_bytes() == 8192);
  Ranks neighbours(shared);
  neighbours.call(make_counts([](int from, int to) { return (from + 1) % ranks == to ? 8192 : 0; }));
  CHECK(neighbours.mean_bytes() == 0);
  CHECK(left_of(on_nodes, 65536, 300) < 150);  // until all have gathered again
  CHECK(left_of(on_nodes, 65536, 300) == 0);
  Ranks alone;
  CHECK(left_of(alone, 8192, 300) == 0);
  Fabric fast;  // whose link carries 60 KB in half a millisecond
  fast.link_bytes_per_s = 119.5e6;
  Ranks on_fast_links(fast);
  CHECK(left_of(on_fast_links, 2048, 300) == 300);
  CHECK(left_of(on_fast_links, 65536, 300) < 150);
}

TEST_CASE("known patterns: streams without any order keep all ranks together") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Ranks all;
    for (int c = 1; c <= 150; ++c) {
      const std::uint64_t kind = mix(seed, static_cast<std::uint64_t>(c), 4) % (seed + 2);
      const std::uint64_t of = mix(seed, static_cast<std::uint64_t>(c), 5) % 3;
      Counts counts = kind == 0 ? sort_keys(of) : kind == 1 ? power_law(of) : random_counts(of);
      if (kind == 3) counts = Counts(cells);
      if (kind == 4) counts = by_little(std::move(counts), c);
      all.call(counts);
      if (c % 50 == 0) CHECK((kind == 3 || all.times_the_limit(counts) < 3));
    }
  }
}

TEST_CASE("known patterns: an exchange that changes on one rank or on all is not held up by the pattern before") {
  for (const int changed : {1, ranks}) {
    CAPTURE(changed);
    Counts counts = make_counts([](int from, int to) {
      return mix(static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), 7) % 2 * 65536;
    });
    const CompiledPattern compiled = compile_pattern(Pattern::of_counts(ranks, counts), {});
    const Counts other = random_counts(5);
    std::copy(other.begin(), other.begin() + changed * ranks, counts.begin());
    Ranks all;
    all.call(counts);
    std::vector<Advice> advice;
    for (int r = 0; r < ranks; ++r) advice.emplace_back(compiled, r);
    CHECK(advice[0].way().in_step);
    for (std::size_t r = 0; r < ranks; ++r) all.ways[r] = advice[r].way_for(all.problems[r]);
    CHECK(all.times_the_limit(counts) < 1.4);
  }
}

TEST_CASE("known patterns: ranks in step that follow different orders wait for each other") {
  // This is what the functions above prevent: some ranks take a pattern for known, others do not.
  const Counts counts = sort_keys(1);
  CompiledPattern reversed;
  reversed.synchronisation = Synchronisation::lockstep;
  reversed.phases.size = ranks;
  for (int phase = ranks - 1; phase > 0; --phase) {
    PhaseOfParts& parts = reversed.phases.phases.emplace_back();
    for (int from = 0; from < ranks; ++from) {
      const int to = (from + phase) % ranks;
      parts.parts.push_back({from, to, 0, counts[static_cast<std::size_t>(from * ranks + to)]});
    }
  }
  Ranks all;
  all.call(counts);
  CHECK(all.times_the_limit(counts) < 1.15);
  std::vector<Advice> advice;
  for (int r = 0; r < ranks; ++r) advice.emplace_back(reversed, r);
  for (std::size_t r = 0; r < ranks; ++r) all.ways[r] = advice[r].way_for(all.problems[r]);
  CHECK(all.times_the_limit(counts) < 1.15);
  for (std::size_t r = 0; r < ranks; r += 3) all.ways[r] = {{}, true};
  CHECK(all.times_the_limit(counts) > 1.5);
  CHECK(all.network.stalls > 0);
}

TEST_CASE("a rank sees whether its own blocks are even") {
  Problem p;
  p.size = 4;
  p.rank = 1;
  p.send_bytes = {1000, 7, 1100, 1250};
  p.recv_bytes = {1200, 0, 1000, 1100};
  CHECK(has_even_blocks(p));
  p.recv_bytes[3] = 1251;
  CHECK_FALSE(has_even_blocks(p));
  p.recv_bytes = {0, 0, 0, 0};
  CHECK_FALSE(has_even_blocks(p));
  p.send_bytes = {0, 5, 0, 0};
  CHECK_FALSE(has_even_blocks(p));
}
