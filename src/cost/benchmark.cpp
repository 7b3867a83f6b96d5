// SPDX-License-Identifier: Apache-2.0
#include "cost/benchmark.hpp"

#include <algorithm>

#include "antiphon/error.hpp"
#include "cost/pieces.hpp"

namespace antiphon {

namespace {

/// Returns the ranks that take part. Where these are the nodes' first ranks, `rank` itself need not be among them.
std::vector<int> members_of(Among among, int rank, const Cluster& cluster) {
  std::vector<int> members;
  std::vector<bool> seen(static_cast<std::size_t>(cluster.nodes()), false);
  for (int r = 0; r < cluster.ranks(); ++r) {
    const auto node = static_cast<std::size_t>(cluster.node(r));
    if (among == Among::all || (among == Among::node ? cluster.node(r) == cluster.node(rank) : !seen[node]))
      members.push_back(r);
    seen[node] = true;
  }
  return members;
}

/// Adds `part` after the operation `begin`, with its ranks renamed to `members` if there are any. Returns the operation
/// that ends the part.
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

/// Says what a rank does in a part of a barrier, and with which ranks. A rank without members takes no part.
struct Wait {
  std::vector<int> members;
  Schedule schedule;
};

std::vector<Wait> waits_of(const Barrier& barrier, int rank, const Cluster& cluster) {
  std::vector<Wait> waits;
  for (const BarrierPart& part : barrier) {
    Wait& wait = waits.emplace_back();
    std::vector<int> members = members_of(part.among, rank, cluster);
    const auto found = std::find(members.begin(), members.end(), rank);
    if (found == members.end()) continue;
    const Algorithm& algorithm = *part.choice.algorithm;
    const auto place = static_cast<int>(found - members.begin()), size = static_cast<int>(members.size());
    wait = {std::move(members), algorithm.build(problem_of({}, place, size, algorithm, part.choice.parameters))};
  }
  return waits;
}

/// Returns after how many calls a port's burst does not show: one where a call is long, more where many calls fit into
/// the time in which a bucket fills, and still more where each call takes only a little of the burst; but no more than
/// can be evaluated, with barriers of so many pieces.
int calls_to_time(std::span<const Schedule> schedules, const Cluster& cluster, std::int64_t barrier_pieces) {
  constexpr double least = 16;
  const double most = std::clamp<double>(most_pieces / (pieces_of(schedules) + barrier_pieces + 1), 1, 64);
  const NodeEntry& port = cluster.entry(0);
  const double forgotten_s = port.burst_bytes / port.port_bytes_per_s;
  if (forgotten_s <= 0) return 1;
  const double once = evaluate(schedules, cluster).seconds;
  return once > 4 * forgotten_s ? 1 : static_cast<int>(std::min(std::max(least * forgotten_s / once, least), most));
}

}  // namespace

TimedCalls evaluate_as_timed(std::span<const Schedule> schedules, const Cluster& cluster, const Barrier& barrier,
                             std::uint32_t order) {
  // The first rank takes part in all of a barrier's parts.
  std::int64_t barrier_pieces = 0;
  for (const Wait& wait : waits_of(barrier, 0, cluster)) barrier_pieces += pieces_of(wait.schedule) * cluster.ranks();
  const int calls = calls_to_time(schedules, cluster, barrier_pieces);
  std::vector<Schedule> timed(schedules.size());
  EvaluationOptions options;
  options.order = order;
  options.marks.resize(schedules.size());
  for (std::size_t r = 0; r < schedules.size(); ++r) {
    const std::vector<Wait> waits = waits_of(barrier, static_cast<int>(r), cluster);
    OpId end = no_op;
    int tag = 0;
    for (int call = 0; call <= calls; ++call) {
      for (const Wait& wait : waits) {
        // Ranks that take no part count the tags too.
        const int first_tag = tag++ * schedule_tags;
        if (!wait.members.empty()) end = append(timed[r], wait.schedule, end, first_tag, wait.members);
      }
      options.marks[r].push_back(end);
      end = append(timed[r], schedules[r], end, tag++ * schedule_tags);
      options.marks[r].push_back(end);
    }
  }
  const Evaluation e = evaluate(timed, cluster, options);
  std::vector<double> seconds;
  for (auto call = static_cast<std::size_t>(calls + 1) / 2; call <= static_cast<std::size_t>(calls); ++call) {
    double slowest = 0;
    for (const auto& marks : e.marks_s) slowest = std::max(slowest, marks[2 * call + 1] - marks[2 * call]);
    seconds.push_back(slowest);
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], e.pieces};
}

}  // namespace antiphon
