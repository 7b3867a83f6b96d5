// SPDX-License-Identifier: Apache-2.0
// Checks schedulers of patterns: the paper's example, random patterns through every scheduler and synchronisation,
// bounds, documents.
#include <algorithm>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "antiphon/error.hpp"
#include "antiphon/phases.hpp"

using namespace antiphon;

namespace {

constexpr std::int64_t mb = 1 << 20;
constexpr std::int64_t kb = 1 << 10;

/// Paper 1, Figure 3 shows these six messages on six nodes, in this order.
Pattern figure_3() {
  return Pattern::of_messages(6, {{0, 1, mb}, {1, 3, mb}, {0, 2, 10 * kb}, {2, 3, 100}, {1, 5, 100}, {2, 1, 100}});
}

using Messages = std::set<std::pair<int, int>>;

std::vector<Messages> contents(const Phases& phases) {
  std::vector<Messages> result;
  for (const PhaseOfParts& phase : phases.phases) {
    Messages& messages = result.emplace_back();
    for (const Part& part : phase.parts) messages.insert({part.from, part.to});
  }
  return result;
}

enum class Kind { random, dense, hot_spot, equal, sparse, one, nothing };

Pattern random_pattern(Kind kind, int size, std::mt19937_64& random) {
  const auto ranks = static_cast<std::size_t>(size);
  std::vector<std::int64_t> counts(ranks * ranks);
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      std::int64_t& bytes = counts[static_cast<std::size_t>(from) * ranks + static_cast<std::size_t>(to)];
      const auto draw = static_cast<std::int64_t>(random() % 70000);
      switch (kind) {
        case Kind::random: bytes = random() % 3 == 0 ? 0 : draw % (random() % 2 == 0 ? 200 : 70000); break;
        case Kind::dense: bytes = draw + 1; break;
        case Kind::hot_spot: bytes = to < 2 ? 40000 : 0; break;
        case Kind::equal: bytes = 20000; break;
        case Kind::sparse: bytes = random() % 8 == 0 ? draw : 0; break;
        case Kind::one: bytes = from == 0 && to == size - 1 ? 100001 : 0; break;
        case Kind::nothing: bytes = 0; break;
      }
    }
  }
  return Pattern::of_counts(size, counts);
}

constexpr Kind kinds[]{Kind::random, Kind::dense, Kind::hot_spot, Kind::equal, Kind::sparse, Kind::one, Kind::nothing};

Fabric two_switches(int size, int per_node, double uplinks) {
  Fabric fabric;
  const int nodes = (size + per_node - 1) / per_node;
  for (int rank = 0; rank < size; ++rank) fabric.node_of_rank.push_back(rank / per_node);
  for (int node = 0; node < nodes; ++node) fabric.switch_of_node.push_back(node < (nodes + 1) / 2 ? 0 : 1);
  fabric.uplink_bytes_per_s = uplinks * fabric.link_bytes_per_s;
  return fabric;
}

}  // namespace

TEST_CASE("greedy: Figure 3 of the paper") {
  const Phases phases = find_scheduler("greedy")->build(figure_3(), {}, 0);
  CHECK(contents(phases) == std::vector<Messages>{{{0, 1}, {1, 3}}, {{0, 2}, {2, 3}, {1, 5}}, {{2, 1}}});
}

TEST_CASE("all-to-all-based: Figure 3 of the paper") {
  const Phases phases = find_scheduler("all_to_all")->build(figure_3(), {}, 0);
  CHECK(contents(phases) == std::vector<Messages>{{{0, 1}, {2, 3}, {1, 5}}, {{1, 3}, {0, 2}, {2, 1}}});
}

TEST_CASE("the paper's threshold puts what is left into one phase") {
  for (const char* scheduler : {"greedy", "all_to_all"}) {
    const Phases phases =
        find_scheduler(scheduler)->build(Pattern::of_messages(4, {{0, 1, 10}, {2, 1, 10}, {3, 1, 10}}), {}, 100);
    REQUIRE(phases.phases.size() == 1);
    CHECK(phases.phases[0].together);
    CHECK(phases.phases[0].parts.size() == 3);
  }
  // Small messages fill the phases of long ones first.
  const Phases mixed =
      find_scheduler("greedy")->build(Pattern::of_messages(4, {{0, 1, 1000}, {2, 3, 10}, {3, 1, 10}}), {}, 100);
  CHECK(contents(mixed) == std::vector<Messages>{{{0, 1}, {2, 3}}, {{3, 1}}});
  CHECK(mixed.phases[1].together);
}

TEST_CASE("Figure 2: an all-to-all takes one phase fewer than there are ranks") {
  std::mt19937_64 random(1);
  for (const int size : {2, 6, 16, 17}) {
    const Phases phases = find_scheduler("all_to_all")->build(random_pattern(Kind::equal, size, random), {}, 0);
    REQUIRE(phases.phases.size() == static_cast<std::size_t>(size - 1));
    for (const PhaseOfParts& phase : phases.phases) {
      const int distance = (phase.parts[0].to - phase.parts[0].from + size) % size;
      CHECK(phase.parts.size() == static_cast<std::size_t>(size));
      for (const Part& part : phase.parts) CHECK((part.to - part.from + size) % size == distance);
    }
  }
}

TEST_CASE("every scheduler on every kind of pattern makes right phases") {
  std::mt19937_64 random(7);
  for (const Scheduler* scheduler : schedulers()) {
    CAPTURE(scheduler->name);
    for (const int size : {1, 2, 3, 5, 8, 16, 17}) {
      for (const Kind kind : kinds) {
        const Pattern pattern = random_pattern(kind, size, random);
        for (const Fabric& fabric : {Fabric{}, two_switches(size, 1, 1), two_switches(size, 3, 2)}) {
          if (scheduler->worth != nullptr && !scheduler->worth(pattern, fabric)) continue;
          for (const std::int64_t small_bytes : {std::int64_t{0}, std::int64_t{300}, std::int64_t{30000}}) {
            CAPTURE(size);
            CAPTURE(static_cast<int>(kind));
            const Phases phases = scheduler->build(pattern, fabric, small_bytes);
            CHECK(check_phases(phases, pattern, fabric) == std::nullopt);
          }
        }
      }
    }
  }
}

TEST_CASE("schedules of phases bring every byte, whatever the order of events") {
  std::mt19937_64 random(11);
  for (const Scheduler* scheduler : schedulers()) {
    CAPTURE(scheduler->name);
    for (int i = 0; i < 24; ++i) {
      const int size = 2 + static_cast<int>(random() % 8);
      const Fabric fabric = i % 2 == 0 ? Fabric{} : two_switches(size, 1 + i % 3, 1);
      const Pattern pattern = random_pattern(kinds[random() % std::size(kinds)], size, random);
      if (scheduler->worth != nullptr && !scheduler->worth(pattern, fabric)) continue;
      CompiledPattern compiled{scheduler->build(pattern, fabric, static_cast<std::int64_t>(random() % 3) * 500)};
      for (int s = 0; s < synchronisation_count; ++s) {
        compiled.synchronisation = static_cast<Synchronisation>(s);
        compiled.cut = {static_cast<std::int64_t>(random() % 4) * 5000, 1 + static_cast<std::int32_t>(random() % 3)};
        CAPTURE(size);
        CAPTURE(s);
        CAPTURE(compiled.cut.piece_bytes);
        CHECK(verify_phases(compiled, random()) == std::nullopt);
      }
    }
  }
}

TEST_CASE("edge colouring: no more phases with long messages than the most long ones of a node") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 200; ++i) {
    const int size = 2 + static_cast<int>(random() % 16);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(size * size));
    for (std::int64_t& bytes : counts) bytes = random() % 2 == 0 ? 65536 : random() % 2 == 0 ? 1000 : 0;
    const Pattern pattern = Pattern::of_counts(size, counts);
    std::vector<std::size_t> all(static_cast<std::size_t>(2 * size)), long_ones(all.size());
    for (const PatternMessage& m : pattern.messages) {
      for (const int end : {m.from, size + m.to}) {
        ++all[static_cast<std::size_t>(end)];
        long_ones[static_cast<std::size_t>(end)] += m.bytes > 1000 ? 1 : 0;
      }
    }
    const Phases phases = find_scheduler("edge_colouring")->build(pattern, {}, 0);
    const auto with_long = std::count_if(phases.phases.begin(), phases.phases.end(), [](const PhaseOfParts& phase) {
      return std::any_of(phase.parts.begin(), phase.parts.end(), [](const Part& part) { return part.bytes > 1000; });
    });
    const std::size_t least = *std::max_element(all.begin(), all.end());
    CHECK(phases.phases.size() >= least);
    CHECK(phases.phases.size() <= least + 4);
    CHECK(static_cast<std::size_t>(with_long) == *std::max_element(long_ones.begin(), long_ones.end()));
  }
}

TEST_CASE("edge colouring: as many phases as messages at a node where all are equally long") {
  std::mt19937_64 random(8);
  for (int i = 0; i < 100; ++i) {
    const int size = 2 + static_cast<int>(random() % 20);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(size * size));
    for (std::int64_t& bytes : counts) bytes = random() % 3 == 0 ? 0 : 65536;
    const Pattern pattern = Pattern::of_counts(size, counts);
    std::vector<std::size_t> degree(static_cast<std::size_t>(2 * size));
    for (const PatternMessage& m : pattern.messages) {
      ++degree[static_cast<std::size_t>(m.from)];
      ++degree[static_cast<std::size_t>(size + m.to)];
    }
    CHECK(find_scheduler("edge_colouring")->build(pattern, {}, 0).phases.size() ==
          *std::max_element(degree.begin(), degree.end()));
  }
}

TEST_CASE("splitting: phases add up to the lower bound") {
  std::mt19937_64 random(6);
  for (int i = 0; i < 50; ++i) {
    const Pattern pattern = random_pattern(Kind::dense, 4 + i % 12, random);
    const Phases phases = find_scheduler("splitting")->build(pattern, {}, 0);
    double end_s = 0;
    for (const TimedPart& part : time_line(phases, {}, Synchronisation::tokens, {}))
      end_s = std::max(end_s, part.end_s);
    // Quanta of 4 KiB round messages up, and permissions take their time.
    CHECK(end_s < 1.12 * lower_bound(pattern, {}).seconds);
  }
}

TEST_CASE("lower bounds: the busiest port, the uplink") {
  const Pattern pattern = Pattern::of_messages(4, {{0, 2, 1000}, {1, 2, 500}, {1, 3, 3000}, {3, 2, 10}});
  Fabric fabric;
  fabric.link_bytes_per_s = 1000;
  CHECK(lower_bound(pattern, fabric).node_bytes == 3500);  // out of 1
  CHECK(lower_bound(pattern, fabric).seconds == doctest::Approx(3.5));
  fabric.switch_of_node = {0, 0, 1, 1};
  fabric.uplink_bytes_per_s = 1000;
  CHECK(lower_bound(pattern, fabric).uplink_bytes == 4500);
  CHECK(lower_bound(pattern, fabric).seconds == doctest::Approx(4.5));
  fabric.node_of_rank = {0, 0, 1, 1};
  fabric.switch_of_node = {0, 1};
  CHECK(lower_bound(pattern, fabric).node_bytes == 4500);
}

TEST_CASE("small messages alone are left unsynchronised; long ones are not") {
  std::vector<std::int64_t> counts(256, 1000);
  CHECK(compile_pattern(Pattern::of_counts(16, counts), {}).synchronisation == Synchronisation::none);
  counts.assign(256, 65536);
  const CompiledPattern long_ones = compile_pattern(Pattern::of_counts(16, counts), {});
  CHECK(long_ones.synchronisation != Synchronisation::none);
  CHECK(static_cast<double>(long_ones.expected_ns) < 1.15e9 * lower_bound(Pattern::of_counts(16, counts), {}).seconds);
}

TEST_CASE("patterns, phases and plans survive being written and read") {
  std::mt19937_64 random(3);
  for (const Kind kind : kinds) {
    const Pattern pattern = random_pattern(kind, 9, random);
    CHECK(pattern_from_json(to_json(pattern)) == pattern);
    CompiledPlan plan;
    for (const Candidate& candidate : schedule_all(pattern, {})) {
      CHECK(phases_from_json(to_json(candidate.compiled.phases)) == candidate.compiled.phases);
      CHECK(candidate.compiled.phases.pattern().hash() == pattern.hash());
      plan.patterns.push_back(candidate.compiled);
      plan.patterns.back().calls = 5;
    }
    CHECK(compiled_plan_from_json(to_json(plan)) == plan);
  }
  CHECK_THROWS_AS(phases_from_json(R"({"version":1,"size":2,"scheduler":"x","phases":[{"parts":[[0,1,5,5]]}]})"),
                  FormatError);
  CHECK_THROWS_AS(pattern_from_json(R"({"version":1,"size":2,"messages":[[0,2,5]]})"), FormatError);
  CHECK_THROWS_AS(pattern_from_json(R"({"version":1,"size":2,"messages":[[0,1,5],[0,1,6]]})"), FormatError);
}

TEST_CASE("a rank whose sizes are not the plan's is refused") {
  const Pattern pattern = figure_3();
  Problem p = pattern.problem(0);
  const CompiledPattern compiled = compile_pattern(pattern, {});
  CHECK_NOTHROW(schedule_of(compiled, p));
  p.send_bytes[1] += 1;
  CHECK_THROWS_AS(schedule_of(compiled, p), InvalidArgument);
}
