// SPDX-License-Identifier: Apache-2.0
#include "capi/phases_requests.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "antiphon/error.hpp"
#include "antiphon/index.hpp"
#include "antiphon/run_plan.hpp"
#include "capi/cases.hpp"
#include "phases/json.hpp"
#include "schedule/json.hpp"

namespace antiphon {

namespace {

Fabric fabric_of(const JsonNode& request) {
  const auto given = request.find("fabric");
  return given ? read_fabric(*given) : Fabric{};
}

Json json_of(const LowerBound& bound) {
  return {{"node_bytes", bound.node_bytes}, {"uplink_bytes", bound.uplink_bytes}, {"seconds", bound.seconds}};
}

/// Writes a schedule with its estimates under every synchronisation, and its time line where it is wanted.
Json described(const CompiledPattern& compiled, const Fabric& fabric, bool with_time_line) {
  Json out = json_of(compiled);
  Json& by = out["seconds"] = Json::object();
  for (int i = 0; i < synchronisation_count; ++i) {
    const auto synchronisation = static_cast<Synchronisation>(i);
    by[name(synchronisation)] = phases_seconds(compiled.phases, fabric, synchronisation, compiled.cut);
  }
  if (!with_time_line) return out;
  Json& line = out["time_line"] = Json::array();
  for (const TimedPart& t : time_line(compiled.phases, fabric, compiled.synchronisation, compiled.cut)) {
    line.push_back({t.part.from, t.part.to, t.part.offset_bytes, t.part.bytes, t.phase, t.begin_s, t.end_s});
  }
  return out;
}

/// Returns the schedules of all ranks for a pattern, as a plan of one call. For each rank, only its own parts are
/// looked at.
Plan call_of(const CompiledPattern& compiled) {
  if (compiled.phases.size > most_listed_ranks)
    throw InvalidArgument("the schedules of " + std::to_string(compiled.phases.size) +
                          " ranks are too many to list: of at most " + std::to_string(most_listed_ranks));
  struct OwnPart {
    std::size_t phase;
    Part part;
  };
  const Pattern pattern = compiled.phases.pattern();
  CompiledPattern own = compiled;
  std::vector<std::vector<OwnPart>> parts(at(pattern.size));
  for (std::size_t i = 0; i < own.phases.phases.size(); ++i) {
    for (const Part& part : std::exchange(own.phases.phases[i].parts, {})) {
      parts[at(part.from)].push_back({i, part});
      parts[at(part.to)].push_back({i, part});
    }
  }
  Plan plan;
  plan.collective = Collective::alltoallv;
  plan.algorithm = compiled.phases.scheduler;
  plan.size = pattern.size;
  plan.bytes = pattern.total_bytes() / pattern.size / pattern.size;
  for (int rank = 0; rank < pattern.size; ++rank) {
    for (const OwnPart& o : parts[at(rank)]) own.phases.phases[o.phase].parts.push_back(o.part);
    plan.schedules.push_back(schedule_of(own, own.phases.pattern().problem(rank)));
    for (const OwnPart& o : parts[at(rank)]) own.phases.phases[o.phase].parts.clear();
  }
  return plan;
}

/// Measures how long a scheduler takes: the median of some runs, or a single run where it takes long.
std::int64_t build_ns(const Scheduler& scheduler, const Pattern& pattern, const Fabric& fabric,
                      std::int64_t small_bytes) {
  constexpr std::int64_t long_ns = 20'000'000;
  std::vector<std::int64_t> times;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const Phases phases = scheduler.build(pattern, fabric, small_bytes);
    times.push_back(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
    if (times.back() > long_ns || phases.phases.empty()) break;
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

Json list_schedulers(const JsonNode&) {
  Json list = Json::array();
  for (const Scheduler* s : schedulers()) list.push_back({{"name", s->name}, {"summary", s->summary}});
  return {{"schedulers", list}};
}

Json schedule_pattern(const JsonNode& request) {
  const Pattern pattern = read_pattern(request.at("pattern"));
  const Fabric fabric = fabric_of(request);
  const std::int64_t asked = request.integer_or("small_bytes", -1, -1, std::int64_t{1} << 48);
  const std::int64_t small_bytes = asked < 0 ? small_threshold(pattern, fabric) : asked;
  const bool with_time_line = request.boolean_or("time_line", true);
  const bool with_times = request.boolean_or("build_times", false);
  Json candidates = Json::array();
  for (const Candidate& candidate : schedule_all(pattern, fabric, {small_bytes})) {
    // Only the winner is drawn.
    Json one = described(candidate.compiled, fabric, with_time_line && candidates.empty());
    if (with_times) {
      one["build_ns"] = build_ns(*find_scheduler(candidate.compiled.phases.scheduler), pattern, fabric, small_bytes);
    }
    candidates.push_back(std::move(one));
  }
  return {{"bound", json_of(lower_bound(pattern, fabric))},
          {"small_bytes", small_bytes},
          {"candidates", std::move(candidates)}};
}

Json describe_plan(const JsonNode& request) {
  const RunPlan plan = run_plan_from_json(request.at("plan").text());
  Json patterns = Json::array();
  const Fabric fabric = fabric_of(request);
  for (const CompiledPattern& compiled : plan.patterns) {
    Json one = described(compiled, fabric, request.boolean_or("time_line", true));
    one["bound"] = json_of(lower_bound(compiled.phases.pattern(), fabric));
    if (request.boolean_or("schedules", false)) one["call"] = json_of(call_of(compiled));
    patterns.push_back(std::move(one));
  }
  return {{"patterns", std::move(patterns)}};
}

Json compile_patterns(const JsonNode& request) {
  const Fabric fabric = fabric_of(request);
  const JsonNode patterns = request.at("patterns");
  CompiledPlan plan;
  const std::size_t count = patterns.array_size();
  for (std::size_t i = 0; i < count; ++i) {
    const JsonNode one = patterns.element(i);
    plan.patterns.push_back(compile_pattern(read_pattern(one.at("pattern")), fabric));
    plan.patterns.back().calls = one.integer_or("calls", 0, 0, INT64_MAX);
  }
  return {{"plan", to_json(plan)}};
}

}  // namespace antiphon
