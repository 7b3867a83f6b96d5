// SPDX-License-Identifier: Apache-2.0
#include "cost/call_evaluator.hpp"

#include <algorithm>
#include <limits>

#include "cost/benchmark.hpp"
#include "cost/simulation.hpp"
#include "cost/whole_nodes.hpp"

namespace antiphon {

namespace {

/// Up to these numbers of ranks and pieces all ranks are evaluated, even where fewer would do. Where nodes share cores,
/// one rank represents others badly, because their turns differ.
constexpr int few_ranks = 32;
constexpr int few_ranks_on_shared_cores = many_ranks;
/// A short call is evaluated in several orders of turns. A call that takes longer than 100 rounds of all ranks depends
/// little on the order.
constexpr std::uint32_t orders_of_turns = 5;
constexpr double long_rounds = 100;
/// Schedules are kept up to so many operations together, less than 10 MB: those of very many ranks are large.
constexpr std::size_t most_kept_operations = 1 << 16;

}  // namespace

std::optional<Prediction> CallEvaluator::evaluate_what_can_be(const Cluster& cluster, const Barrier* barrier) const {
  const int few = cluster.cores() > 0 ? few_ranks_on_shared_cores : few_ranks;
  const auto evaluated = [&](std::span<const Schedule> schedules) -> std::optional<Prediction> {
    const auto seconds = evaluate_all(schedules, cluster, barrier);
    return seconds ? std::optional(Prediction{*seconds, Method::evaluated}) : std::nullopt;
  };
  std::vector<Schedule> schedules;
  if (cluster.ranks() <= few) {
    schedules = all_schedules(cluster.ranks());
    if (pieces_of(schedules) <= std::min(few_pieces, most_pieces_)) return evaluated(schedules);
  }
  if (const auto symmetric = evaluate_symmetric(cluster)) return symmetric;
  const std::int64_t all = schedules.empty() ? total_pieces(cluster.ranks()) : pieces_of(schedules);
  if (all > most_pieces_) return std::nullopt;
  return evaluated(schedules.empty() ? all_schedules(cluster.ranks()) : schedules);
}

std::optional<Prediction> CallEvaluator::evaluate_symmetric(const Cluster& cluster) const {
  // Very many ranks' schedules take long to compare, so what would be too many pieces comes first.
  if (cluster.period() >= cluster.ranks() || pieces_of_few(cluster) > most_pieces_) return std::nullopt;
  const auto build = [&](int rank) { return schedule(rank, cluster.ranks()); };
  const Symmetry symmetry = find_symmetry(build, cluster.ranks(), cluster.period(), call_.root, is_quick(limits_));
  if (symmetry.whole()) return std::nullopt;
  return Prediction{evaluate_period(cluster, symmetry), Method::symmetric};
}

const Problem& CallEvaluator::problem(int rank, int ranks) const {
  std::optional<Problem>& problem = built_.problem;
  const bool root_differs = is_irregular(call_.collective) && has_root(call_.collective);
  if (!problem || problem->size != ranks || root_differs)
    problem = problem_of(call_, rank, ranks, algorithm_, parameters_);
  problem->rank = rank;
  return *problem;
}

/// A kept schedule counts as if it were built, so that what is kept decides nothing.
Schedule CallEvaluator::schedule(int rank, int ranks) const {
  const auto kept = built_.schedules.find({rank, ranks});
  Schedule schedule = kept != built_.schedules.end() ? kept->second : algorithm_.build(problem(rank, ranks));
  const std::size_t operations = schedule.ops().size();
  effort_->pieces += static_cast<std::int64_t>(operations) / operations_a_piece;
  if (kept == built_.schedules.end() && built_.operations + operations <= most_kept_operations) {
    built_.schedules.emplace(std::pair(rank, ranks), schedule);
    built_.operations += operations;
  }
  return schedule;
}

std::vector<Schedule> CallEvaluator::all_schedules(int ranks) const {
  std::vector<Schedule> schedules;
  for (int r = 0; r < ranks; ++r) schedules.push_back(schedule(r, ranks));
  return schedules;
}

std::int64_t CallEvaluator::total_pieces(int ranks) const {
  if (ranks <= few_ranks) return pieces_of(all_schedules(ranks));
  return about_all_pieces([&](int rank) { return pieces_of(schedule(rank, ranks)); }, call_.root, ranks);
}

std::optional<double> CallEvaluator::evaluate_all(std::span<const Schedule> schedules, const Cluster& cluster,
                                                  const Barrier* barrier, bool patient) const {
  const auto in_order = [&](std::uint32_t order) -> std::optional<double> {
    if (barrier != nullptr && cluster.ranks() > 1) {
      const TimedCalls timed = evaluate_as_timed(schedules, cluster, *barrier, order);
      effort_->pieces += timed.pieces;
      return timed.seconds;
    }
    EvaluationOptions options;
    options.order = order;
    options.max_seconds = limits_.max_seconds;
    options.max_rate_updates = limits_.max_rate_updates;
    if (cluster.ranks() > many_ranks && !patient)
      options.max_rate_updates = std::min(rate_updates_, limits_.max_rate_updates);
    const Evaluation evaluation = evaluate(schedules, cluster, options);
    effort_->pieces += evaluation.pieces;
    if (evaluation.given_up && (patient || cluster.ranks() <= many_ranks)) return give_up();
    return evaluation.given_up ? std::nullopt : std::optional(evaluation.seconds);
  };
  // Where ranks share cores, the order of their turns is unknown. Short calls depend on it, so the result is the
  // median over several orders.
  const std::optional<double> first = in_order(1);
  const double short_s = long_rounds * cluster.turn_s() * cluster.ranks_on_cores();
  const bool long_call = first && *first > short_s;
  if (!first || limits_.one_order || cluster.cores() == 0 || cluster.ranks() > few_ranks_on_shared_cores || long_call)
    return first;
  std::vector<double> seconds{*first};
  for (std::uint32_t order = 2; order <= orders_of_turns; ++order) seconds.push_back(*in_order(order));
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

double CallEvaluator::evaluate_period(const Cluster& cluster, const Symmetry& symmetry) const {
  std::vector<Schedule> schedules;
  for (int r = 0; r < symmetry.period; ++r) schedules.push_back(schedule(r, cluster.ranks()));
  EvaluationOptions options;
  options.max_seconds = limits_.max_seconds;
  options.max_rate_updates = limits_.max_rate_updates;
  const Evaluation evaluation = CostSimulation(schedules, cluster, symmetry, options).run();
  effort_->pieces += evaluation.pieces;
  return evaluation.given_up ? give_up() : evaluation.seconds;
}

double CallEvaluator::give_up() const {
  effort_->given_up = true;
  return std::numeric_limits<double>::infinity();
}

}  // namespace antiphon
