// SPDX-License-Identifier: Apache-2.0
#include "cost/benchmark.hpp"

#include <algorithm>

#include "antiphon/error.hpp"

namespace antiphon {

namespace {

/// Tags of a part must not meet another part's.
constexpr int tags_of_a_part = 4096;

/// Who takes part: with the rank, or, among the nodes' first ones, perhaps without it.
std::vector<int> members_of(Among among, int rank, const Machine& machine) {
  std::vector<int> members;
  std::vector<bool> seen(static_cast<std::size_t>(machine.nodes()), false);
  for (int r = 0; r < machine.ranks(); ++r) {
    const auto node = static_cast<std::size_t>(machine.node(r));
    if (among == Among::all || (among == Among::node ? machine.node(r) == machine.node(rank) : !seen[node]))
      members.push_back(r);
    seen[node] = true;
  }
  return members;
}

/// Adds `part` after the operation `begin`; the operation that ends it. Its ranks are `members`, if any are named.
OpId append(Schedule& whole, const Schedule& part, OpId begin, int tag, std::span<const int> members = {}) {
  const auto renamed = [&](int rank) {
    return members.empty() || rank < 0 ? rank : members[static_cast<std::size_t>(rank)];
  };
  const auto offset = static_cast<OpId>(whole.ops().size());
  for (Op op : part.ops()) {
    std::vector<Dep> deps;
    for (const Dep& dep : part.deps(op)) deps.emplace_back(dep.op + offset, dep.lag);
    if (begin != no_op) deps.emplace_back(begin);
    op.tag += tag;
    op.peer = renamed(op.peer);
    if (op.group >= 0) {
      std::vector<int> group = part.groups()[static_cast<std::size_t>(op.group)];
      std::transform(group.begin(), group.end(), group.begin(), renamed);
      op.group = whole.group(group);
    }
    whole.add(op, deps);
  }
  std::vector<Dep> ends;
  if (begin != no_op) ends.emplace_back(begin);
  for (OpId id = 0; id < part.ops().size(); ++id) ends.emplace_back(id + offset);
  Op join;
  join.kind = OpKind::copy;
  return whole.add(join, ends);
}

/// What a rank does in a part of a barrier, and with whom; nobody: it takes no part.
struct Wait {
  std::vector<int> members;
  Schedule schedule;
};

std::vector<Wait> waits_of(const Barrier& barrier, int rank, const Machine& machine) {
  std::vector<Wait> waits;
  for (const BarrierPart& part : barrier) {
    Wait& wait = waits.emplace_back();
    std::vector<int> members = members_of(part.among, rank, machine);
    const auto found = std::find(members.begin(), members.end(), rank);
    if (found == members.end()) continue;
    const Algorithm& algorithm = *part.choice.algorithm;
    const auto place = static_cast<int>(found - members.begin()), size = static_cast<int>(members.size());
    wait = {std::move(members), algorithm.build(problem_of({}, place, size, algorithm, part.choice.parameters))};
  }
  return waits;
}

/// Calls after which a port's burst no longer shows: one where a call is long, more where many fit into the time in
/// which the port forgets, and still more where each takes but a little of the burst.
int calls_to_time(std::span<const Schedule> schedules, const Machine& machine) {
  constexpr double least = 16, most = 64;
  const NodeEntry& port = machine.entry(0);
  const double forgotten_s = port.burst_bytes / port.port_bytes_per_s;
  if (forgotten_s <= 0) return 1;
  const double once = evaluate(schedules, machine).seconds;
  return once > 4 * forgotten_s ? 1 : static_cast<int>(std::clamp(least * forgotten_s / once, least, most));
}

}  // namespace

double evaluate_as_timed(std::span<const Schedule> schedules, const Machine& machine, const Barrier& barrier,
                         std::uint32_t order) {
  const int calls = calls_to_time(schedules, machine);
  std::vector<Schedule> timed(schedules.size());
  EvaluationOptions options;
  options.order = order;
  options.marks.resize(schedules.size());
  for (std::size_t r = 0; r < schedules.size(); ++r) {
    const std::vector<Wait> waits = waits_of(barrier, static_cast<int>(r), machine);
    OpId end = no_op;
    int tag = 0;
    for (int call = 0; call <= calls; ++call) {
      for (const Wait& wait : waits) {
        // Tags go on for those, too, who take no part.
        const int first_tag = tag++ * tags_of_a_part;
        if (!wait.members.empty()) end = append(timed[r], wait.schedule, end, first_tag, wait.members);
      }
      options.marks[r].push_back(end);
      end = append(timed[r], schedules[r], end, tag++ * tags_of_a_part);
      options.marks[r].push_back(end);
    }
  }
  const Evaluation e = evaluate(timed, machine, options);
  std::vector<double> seconds;
  for (auto call = static_cast<std::size_t>(calls + 1) / 2; call <= static_cast<std::size_t>(calls); ++call) {
    double slowest = 0;
    for (const auto& marks : e.marks_s) slowest = std::max(slowest, marks[2 * call + 1] - marks[2 * call]);
    seconds.push_back(slowest);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace antiphon
