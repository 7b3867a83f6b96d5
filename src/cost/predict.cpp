// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>

#include "antiphon/cost.hpp"
#include "antiphon/error.hpp"
#include "antiphon/index.hpp"
#include "cost/benchmark.hpp"
#include "cost/growth.hpp"
#include "cost/in_order.hpp"
#include "cost/link_loads.hpp"
#include "cost/pieces.hpp"
#include "cost/simulation.hpp"
#include "cost/values.hpp"
#include "cost/whole_nodes.hpp"

namespace antiphon {

namespace {

/// Up to these numbers of ranks and pieces all ranks are evaluated, even where fewer would do. Where nodes share cores,
/// one rank represents others badly, because their turns differ.
constexpr int few_ranks = 32;
constexpr int few_ranks_on_shared_cores = 256;
/// With more ranks, an evaluation stops after this many rates of flows (half a second), and the result is extrapolated
/// from half of these ranks instead.
constexpr int many_ranks = few_ranks_on_shared_cores;
constexpr std::int64_t most_rate_updates = 2'000'000;
constexpr int many_messages_ranks = 1024;
/// A short call is evaluated in several orders of turns. A call that takes longer than 100 rounds of all ranks depends
/// little on the order.
constexpr std::uint32_t orders_of_turns = 5;
constexpr double long_rounds = 100;
/// An extrapolation starts from at least this many ranks, or goes up to at least this many nodes with several each.
constexpr int least_ranks = 8;
constexpr int least_nodes = 16;
constexpr int most_nodes = 64;
constexpr int few_nodes = 8;
/// What grows with the nodes is looked at with so many switches, if there are several.
constexpr int few_switches = 4;

/// Builds the schedules of one call, and evaluates all of them or those that stand for all.
class Predictor {
 public:
  Predictor(const PredictedCall& call, const Algorithm& algorithm, const Parameters& parameters,
            const PredictionLimits& limits = {})
      : call_(call), algorithm_(algorithm), parameters_(resolve_parameters(algorithm, parameters)), limits_(limits) {}

  /// Takes the groups of ranks from where the cluster's ranks stand, and returns it.
  Cluster stand_along(Cluster cluster) {
    std::tie(call_.node_sizes, call_.switch_sizes) = cluster.places(call_.root_if_any()).groups();
    return cluster;
  }

  [[nodiscard]] bool supported(int ranks) const {
    return ranks > call_.root && supports(algorithm_, problem_of(call_, 0, ranks, algorithm_, parameters_));
  }

  [[nodiscard]] Prediction predict(const Cluster& cluster, const Barrier* barrier) const {
    Prediction prediction = predicted(cluster, barrier);
    prediction.pieces = effort_->pieces;
    prediction.given_up = effort_->given_up && std::isinf(prediction.seconds);
    return prediction;
  }

  /// Extrapolates from P0, 2 P0, 4 P0 and 8 P0 ranks: one part grows with each rank, another with each doubling.
  [[nodiscard]] double over_ranks(const Cluster& cluster) const {
    const PredictedCall call = from_first();
    PredictionLimits limits = limits_;  // What fewer ranks do not do in the time that is given, more do not either.
    limits.max_ranks = std::numeric_limits<int>::max();
    const int unit = whole_nodes(cluster, limits_);
    if (is_quick(limits_) && unit > 1) limits.max_pieces = std::min(limits_.max_pieces, most_quick_pieces);
    Predictor smaller = another(call, limits);
    if (cluster.ranks() > very_many_ranks) smaller.rate_updates_ = most_rate_updates / 4;
    int most = smaller.most_ranks_before(cluster, limits_);
    const int fewer = std::max(many_ranks / 2, least_nodes * unit);
    const auto with = [&](int ranks) { return smaller.stand_along(cluster.resized(ranks)); };
    if (most >= cluster.ranks()) return smaller.predict(smaller.stand_along(cluster), nullptr).seconds;
    auto largest = smaller.evaluate_what_can_be(with(most), nullptr);
    while (!largest && most / 2 >= std::max(4 * least_ranks, fewest_nodes * unit)) {
      most = most > fewer ? fewer : most / 2;
      largest = smaller.evaluate_what_can_be(with(most), nullptr);
    }
    // A single node says nothing of the network, and has no switches.
    Parts parts{{}, 0, most};
    parts.seconds[3] = largest ? largest->seconds : smaller.predict(with(most), nullptr).seconds;
    while (parts.first < 2 && unit > 1 && most >> (3 - parts.first) <= unit) ++parts.first;
    double last_s = parts.seconds[3];
    for (std::size_t i = parts.first; std::isfinite(last_s) && i < 3; ++i)
      last_s = parts.seconds[i] = smaller.predict(with(most >> (3 - i)), nullptr).seconds;
    if (!std::isfinite(last_s)) return last_s;
    const auto seen = is_quick(limits_) ? growth_seen(parts) : std::nullopt;
    const double seconds = beyond(parts, cluster.ranks(), seen ? *seen : growth(cluster));
    if (is_quick(limits_) || has_root(call_.collective)) return seconds;
    const double links_before_s = smaller.links_s(with(most));
    return along_links(seconds, parts.seconds[3], links_before_s, links_before_s > 0 ? links_s(cluster) : 0);
  }

 private:
  /// Returns the call with its root among any number of ranks: what is said of fewer ranks holds for any root.
  [[nodiscard]] PredictedCall from_first() const {
    PredictedCall call = call_;
    call.root = 0;
    return call;
  }
  /// Returns what predicts a part of this prediction.
  [[nodiscard]] Predictor another(const PredictedCall& call, const PredictionLimits& limits) const {
    Predictor other(call, algorithm_, parameters_, limits);
    other.effort_ = effort_;
    return other;
  }
  [[nodiscard]] double give_up() const {
    effort_->given_up = true;
    return std::numeric_limits<double>::infinity();
  }

  /// Returns what the links of a regular tree need, or 0. Schedules of many leaders take long to build.
  [[nodiscard]] double links_s(const Cluster& cluster) const {
    if (algorithm_.levels) return call_.collective == Collective::alltoall ? all_pairs_link_s(cluster, call_.bytes) : 0;
    return busiest_link_s(cluster, [&](int rank) { return schedule(rank, cluster.ranks()); });
  }

  /// Returns the most ranks to extrapolate from. They are powers of two because no algorithm refuses those.
  [[nodiscard]] int most_ranks_before(const Cluster& cluster, const PredictionLimits& limits) const {
    const int unit = whole_nodes(cluster, limits);
    if (is_quick(limits) && unit > 1) return fewest_nodes * unit;
    const int least = unit > 1 ? least_nodes * unit : 4 * least_ranks;
    int most = std::min(static_cast<int>(std::bit_floor(static_cast<unsigned>(cluster.ranks() - 1))),
                        std::max(limits.max_ranks, 4 * least_ranks));
    if (unit > 1) most = std::min(most, most_nodes * unit);
    const std::int64_t pieces = unit > 1 ? most_pieces / 4 : most_pieces;
    // From few ranks up, because schedules of many take long to build.
    int found = std::min(most, least);
    const bool too_many = cluster.ranks() > very_many_ranks && unit > 1 && total_pieces(found) > pieces;
    if (too_many) return std::min(found, few_nodes * unit);
    while (found * 2 <= most && total_pieces(found * 2) <= pieces) found *= 2;
    return found;
  }

  /// Tells how the call grows with the nodes, of which two ranks each tell as much as many, if that is soon counted.
  [[nodiscard]] Growth growth(const Cluster& cluster) const {
    const int per_node = cluster.ranks() > cluster.nodes() ? 2 : 1;
    const auto on_few_switches = [&](int count) {
      PredictedCall call = from_first();
      call.node_sizes.assign(at(count / per_node), per_node);
      call.switch_sizes.assign(call_.switch_sizes.empty() ? 0 : few_switches, count / few_switches);
      return another(call, {});
    };
    const auto pieces_of_largest = [&](int ranks) { return on_few_switches(16 * ranks).total_pieces(16 * ranks); };
    int ranks = is_quick(limits_) ? least_ranks / 2 : 2 * least_ranks;
    std::int64_t pieces = pieces_of_largest(ranks);
    if (pieces > most_pieces / 8) pieces = pieces_of_largest(ranks /= 2);
    if (pieces > most_pieces) return {};
    return growth_of([&](int count) { return on_few_switches(count).all_schedules(count); }, ranks, per_node);
  }

  [[nodiscard]] Prediction predicted(const Cluster& cluster, const Barrier* barrier) const {
    if (cluster.ranks() > limits_.max_ranks) return predicted_quickly(cluster);
    // To build schedules of very many messages takes longer than to extrapolate from fewer ranks.
    const bool very_many = cluster.ranks() > very_many_ranks;
    const Predictor first = another(from_first(), limits_);
    if (very_many && pieces_of(first.schedule(0, many_messages_ranks)) * cluster.period() > most_pieces / 4)
      return {over_ranks_of_any_length(cluster), Method::extrapolated};
    // The schedules of very many ranks take long to build, too, where no few of them stand for all.
    if (const auto evaluated = very_many ? evaluate_symmetric(cluster) : evaluate_what_can_be(cluster, barrier))
      return *evaluated;
    return {std::max(extrapolated(cluster, barrier), least_s(cluster)), Method::extrapolated};
  }

  [[nodiscard]] Prediction predicted_quickly(const Cluster& cluster) const {
    if (has_root(call_.collective) || cluster.ranks() > soon_ranks)
      return {over_ranks_of_any_length(cluster), Method::extrapolated};
    const double least = least_s(cluster);
    const auto of_few = cluster.cores() == 0 ? predicted_by_few(cluster, least) : std::nullopt;
    if (of_few && !effort_->given_up) return *of_few;
    effort_->given_up = false;
    return {std::max(over_ranks_of_any_length(cluster), least), Method::extrapolated};
  }

  /// Where few ranks stand for all, they tell more than what fewer ranks would do. With a root all are different.
  [[nodiscard]] std::optional<Prediction> predicted_by_few(const Cluster& cluster, double least) const {
    const std::int64_t most = std::clamp(static_cast<std::int64_t>(least * pieces_per_s), soon_pieces, few_pieces);
    if (const auto symmetric = pieces_of_few(cluster) <= most ? evaluate_symmetric(cluster) : std::nullopt)
      return symmetric;
    const auto seconds = over_bytes_of_few(cluster, most / 2);
    return seconds ? std::optional(Prediction{std::max(*seconds, least), Method::extrapolated}) : std::nullopt;
  }

  [[nodiscard]] double extrapolated(const Cluster& cluster, const Barrier* barrier) const {
    if (most_pieces_ < most_pieces) return give_up();
    const bool few = whole_nodes(cluster, limits_) > 1 && cluster.nodes() <= least_nodes;
    if (cluster.ranks() <= 4 * least_ranks) return over_bytes(cluster, barrier);
    const bool alike = whole_nodes(cluster, limits_) == cluster.period();
    if (const auto seconds = alike ? over_bytes_of_few(cluster, most_pieces) : std::nullopt) return *seconds;
    if (few && (cluster.nodes() <= fewest_nodes || shrinks(cluster.ranks()))) return over_bytes(cluster, barrier);
    return over_ranks_of_any_length(cluster);
  }

  /// Where a message is cut into shorter blocks for more ranks, their bytes hide at first how their number grows.
  [[nodiscard]] double over_ranks_of_any_length(const Cluster& cluster) const {
    const Predictor least = another(shortest(cluster.ranks()), limits_);
    const bool may_hide = !has_blocks(call_.collective) && (!is_quick(limits_) || whole_nodes(cluster, limits_) > 1);
    return std::max(over_ranks(cluster), may_hide && least.call_.bytes < call_.bytes ? least.over_ranks(cluster) : 0);
  }

  /// Tells whether shorter messages have fewer pieces, few enough to evaluate them.
  [[nodiscard]] bool shrinks(int ranks) const {
    return Predictor(shortest(ranks), algorithm_, parameters_).total_pieces(ranks) <= most_pieces / 8;
  }

  /// Returns the call with messages that are as short as can be without empty blocks.
  [[nodiscard]] PredictedCall shortest(int ranks) const {
    PredictedCall call = call_;
    call.bytes = std::min(call.bytes, call.element_bytes * ranks);
    return call;
  }

  /// Returns what the ports of some ranks' nodes need for these ranks' own messages to other nodes. The first rank of a
  /// node leads its first lane, which has no more to send than the node's other lanes.
  [[nodiscard]] double least_s(const Cluster& cluster) const {
    const int per_node = std::min(whole_nodes(cluster, limits_), cluster.ranks() - 1);
    const int middle = cluster.ranks() / 2;
    const std::vector<int> ranks =
        algorithm_.levels ? std::vector{0, per_node}
                          : std::vector{0, call_.root, per_node - 1, per_node, middle, cluster.ranks() - 1};
    const std::ptrdiff_t most_operations = is_quick(limits_) ? soon_operations : few_pieces;
    const auto build = [&](int rank) { return schedule(rank, cluster.ranks()); };
    return leaders_of(algorithm_, parameters_, call_) * port_s(cluster, build, ranks, most_operations);
  }

  /// Returns nothing if the evaluation would take long.
  [[nodiscard]] std::optional<Prediction> evaluate_what_can_be(const Cluster& cluster, const Barrier* barrier) const {
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

  /// Returns nothing if no few ranks stand for all, or if these would take long.
  [[nodiscard]] std::optional<Prediction> evaluate_symmetric(const Cluster& cluster) const {
    // Very many ranks' schedules take long to compare, so what would be too many pieces comes first.
    if (cluster.period() >= cluster.ranks() || pieces_of_few(cluster) > most_pieces_) return std::nullopt;
    const auto build = [&](int rank) { return schedule(rank, cluster.ranks()); };
    const Symmetry symmetry = find_symmetry(build, cluster.ranks(), cluster.period(), call_.root, is_quick(limits_));
    if (symmetry.whole()) return std::nullopt;
    return Prediction{evaluate_period(cluster, symmetry), Method::symmetric};
  }

  [[nodiscard]] Schedule schedule(int rank, int ranks) const {
    Schedule built = algorithm_.build(problem_of(call_, rank, ranks, algorithm_, parameters_));
    effort_->pieces += static_cast<std::int64_t>(built.ops().size()) / operations_a_piece;
    return built;
  }

  [[nodiscard]] std::vector<Schedule> all_schedules(int ranks) const {
    std::vector<Schedule> schedules;
    for (int r = 0; r < ranks; ++r) schedules.push_back(schedule(r, ranks));
    return schedules;
  }

  [[nodiscard]] std::int64_t total_pieces(int ranks) const {
    if (ranks <= few_ranks) return pieces_of(all_schedules(ranks));
    return about_all_pieces([&](int rank) { return pieces_of(schedule(rank, ranks)); }, call_.root, ranks);
  }

  /// Returns nothing if computing the rates of many ranks' flows would take long.
  [[nodiscard]] std::optional<double> evaluate_all(std::span<const Schedule> schedules, const Cluster& cluster,
                                                   const Barrier* barrier, bool patient = false) const {
    const auto in_order = [&](std::uint32_t order) -> std::optional<double> {
      if (barrier != nullptr && cluster.ranks() > 1) return evaluate_as_timed(schedules, cluster, *barrier, order);
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

  [[nodiscard]] double evaluate_period(const Cluster& cluster, const Symmetry& symmetry) const {
    std::vector<Schedule> schedules;
    for (int r = 0; r < symmetry.period; ++r) schedules.push_back(schedule(r, cluster.ranks()));
    EvaluationOptions options;
    options.max_seconds = limits_.max_seconds;
    options.max_rate_updates = limits_.max_rate_updates;
    const Evaluation evaluation = CostSimulation(schedules, cluster, symmetry, options).run();
    effort_->pieces += evaluation.pieces;
    return evaluation.given_up ? give_up() : evaluation.seconds;
  }

  /// Extrapolates long messages: each doubling adds twice what the doubling before added.
  [[nodiscard]] double over_bytes(const Cluster& cluster, const Barrier* barrier) const {
    PredictedCall call = call_;
    const auto shorter = [&] { return another(call, {}); };
    const std::int64_t most = cluster.ranks() > many_ranks ? most_pieces / 8 : most_pieces / 2;
    do {
      call.bytes /= 2;
    } while (shorter().total_pieces(cluster.ranks()) > most && call.bytes > call.element_bytes * 2);
    // Halving keeps the way in which bcast and allreduce divide the message into blocks.
    const double more = static_cast<double>(call.bytes);
    const auto seconds = [&] {
      const Predictor now = shorter();
      constexpr bool patient = true;
      return *now.evaluate_all(now.all_schedules(cluster.ranks()), cluster, barrier, patient);
    };
    const double twice = seconds();
    if (std::isinf(twice)) return twice;
    call.bytes /= 2;
    const double once = seconds();
    return twice + (twice - once) * 2 * (static_cast<double>(call_.bytes) - more) / more;
  }

  /// Extrapolates long messages where few ranks stand for all; returns nothing where none do, or messages are short.
  [[nodiscard]] std::optional<double> over_bytes_of_few(const Cluster& cluster, std::int64_t most) const {
    const auto build = [&](int rank) { return schedule(rank, cluster.ranks()); };
    if (another(shortest(cluster.ranks()), {}).pieces_of_few(cluster) > most) return std::nullopt;
    const Symmetry symmetry = find_symmetry(build, cluster.ranks(), cluster.period(), call_.root, is_quick(limits_));
    if (symmetry.whole()) return std::nullopt;
    PredictedCall call = call_;
    const auto shorter = [&]() -> std::optional<double> {
      const Predictor now = another(call, limits_);
      if (now.pieces_of_few(cluster) > most) return std::nullopt;
      return now.evaluate_period(cluster, symmetry);
    };
    std::optional<double> twice;
    do call.bytes /= 2;
    while (!(twice = shorter()) && call.bytes > call.element_bytes * 4);
    const auto more = static_cast<double>(call_.bytes - call.bytes);
    call.bytes /= 2;
    const auto once = twice ? shorter() : std::nullopt;
    if (!once || std::isinf(*twice)) return twice;
    return *twice + (*twice - *once) * more / static_cast<double>(call.bytes);
  }

  /// Returns the pieces of the ranks that would stand for all.
  [[nodiscard]] std::int64_t pieces_of_few(const Cluster& cluster) const {
    return pieces_of(schedule(0, cluster.ranks())) * cluster.period();
  }

  PredictedCall call_;
  const Algorithm& algorithm_;
  Parameters parameters_;
  PredictionLimits limits_;
  std::int64_t most_pieces_ = std::min(most_pieces, limits_.max_pieces);
  std::int64_t rate_updates_ = most_rate_updates;
  std::shared_ptr<Effort> effort_ = std::make_shared<Effort>();  ///< shared by all that predict parts
};

}  // namespace

double predict_from_fewer_ranks(const PredictedCall& call, const Algorithm& algorithm, const Parameters& parameters,
                                const Cluster& cluster) {
  return Predictor(call, algorithm, parameters).over_ranks(cluster);
}

std::optional<Prediction> predict(const PredictedCall& call, const Algorithm& algorithm, const Parameters& parameters,
                                  const Cluster& cluster, const Barrier* barrier, const PredictionLimits& limits) {
  if (!limits.as_numbered && may_reorder(algorithm, call.commutative)) {
    if (const std::vector<int> order = cluster.places(call.root_if_any()).order; !order.empty()) {
      const auto [placed, ordered] = in_order(call, cluster, order);
      return predict(placed, algorithm, parameters, ordered, barrier, limits);
    }
  }
  Predictor predictor(call, algorithm, parameters, limits);
  predictor.stand_along(cluster);
  if (!predictor.supported(cluster.ranks())) return std::nullopt;
  if (algorithm.multicasts && !cluster.profile().multicast.works) return std::nullopt;
  return predictor.predict(cluster, barrier);
}

}  // namespace antiphon
