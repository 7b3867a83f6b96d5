// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "antiphon/cost.hpp"
#include "antiphon/index.hpp"
#include "cost/call_evaluator.hpp"
#include "cost/growth.hpp"
#include "cost/in_order.hpp"
#include "cost/link_loads.hpp"
#include "cost/values.hpp"
#include "cost/whole_nodes.hpp"

namespace antiphon {

namespace {

constexpr int many_messages_ranks = 1024;
/// An extrapolation starts from at least this many ranks, or goes up to at least this many nodes with several each.
constexpr int least_ranks = 8;
constexpr int least_nodes = 16;
constexpr int most_nodes = 64;
constexpr int few_nodes = 8;
/// What grows with the nodes is looked at with so many switches, if there are several.
constexpr int few_switches = 4;

/// Predicts one call: evaluates it, or extrapolates it from fewer ranks or shorter messages.
class Predictor : CallEvaluator {
 public:
  Predictor(const PredictedCall& call, const Algorithm& algorithm, const Parameters& parameters,
            const PredictionLimits& limits = {})
      : CallEvaluator(call, algorithm, parameters, limits) {}

  /// Takes the groups of ranks from where the cluster's ranks stand, and returns it.
  Cluster stand_along(Cluster cluster) {
    std::tie(call_.node_sizes, call_.switch_sizes) = cluster.places(call_.root_if_any()).groups();
    built_ = {};
    return cluster;
  }

  [[nodiscard]] bool supported(int ranks) const {
    return ranks > call_.root && supports(algorithm_, problem(0, ranks));
  }

  /// Returns nothing where there are too few ranks to extrapolate from.
  [[nodiscard]] std::optional<Prediction> predict(const Cluster& cluster, const Barrier* barrier) const {
    auto prediction = predicted(cluster, barrier);
    if (!prediction) return std::nullopt;
    prediction->pieces = effort_->pieces;
    prediction->given_up = effort_->given_up && std::isinf(prediction->seconds);
    return prediction;
  }

  /// Extrapolates from P0, 2 P0, 4 P0 and 8 P0 ranks: one part grows with each rank, another with each doubling.
  /// Returns nothing where the algorithm supports too few of them.
  [[nodiscard]] std::optional<double> over_ranks(const Cluster& cluster) const {
    PredictionLimits limits = limits_;  // What fewer ranks do not do in the time that is given, more do not either.
    limits.max_ranks = std::numeric_limits<int>::max();
    const int unit = whole_nodes(cluster, limits_);
    if (is_quick(limits_) && unit > 1) limits.max_pieces = std::min(limits_.max_pieces, most_quick_pieces);
    Predictor smaller = another(from_first(), limits);
    if (cluster.ranks() > very_many_ranks) smaller.rate_updates_ = most_rate_updates / 4;
    const int most = smaller.most_ranks_before(cluster, limits_);
    if (most >= cluster.ranks()) return seconds_of(smaller.predict(smaller.stand_along(cluster), nullptr));
    const auto parts = smaller.parts_of(cluster, most, unit);
    if (!parts) return std::nullopt;
    if (const double last_s = parts->seconds[parts->first]; !std::isfinite(last_s)) return last_s;
    const auto seen = is_quick(limits_) ? growth_seen(*parts) : std::nullopt;
    const double seconds = beyond(*parts, cluster.ranks(), seen ? *seen : growth(cluster));
    if (is_quick(limits_) || has_root(call_.collective)) return seconds;
    const double links_before_s = smaller.links_s(smaller.stand_along(cluster.resized(parts->most)));
    return along_links(seconds, parts->seconds[3], links_before_s, links_before_s > 0 ? links_s(cluster) : 0);
  }

 private:
  /// Returns the call with its root among any number of ranks: what is said of fewer ranks holds for any root.
  [[nodiscard]] PredictedCall from_first() const {
    PredictedCall call = call_;
    call.root = 0;
    return call;
  }
  static std::optional<double> seconds_of(const std::optional<Prediction>& prediction) {
    return prediction ? std::optional(prediction->seconds) : std::nullopt;
  }
  static std::optional<Prediction> no_less(std::optional<double> seconds, double least_s) {
    if (!seconds) return std::nullopt;
    return Prediction{std::max(*seconds, least_s), Method::extrapolated};
  }
  /// Returns what predicts a part of this prediction.
  [[nodiscard]] Predictor another(const PredictedCall& call, const PredictionLimits& limits) const {
    Predictor other(call, algorithm_, parameters_, limits);
    other.effort_ = effort_;
    return other;
  }

  /// Predicts all, half, a quarter and an eighth of `most` of the cluster's ranks, or of fewer where that takes long.
  /// Returns nothing where the algorithm does not support half of them, for instance since they are on one switch.
  [[nodiscard]] std::optional<Parts> parts_of(const Cluster& cluster, int most, int unit) {
    const auto with = [&](int ranks) -> std::optional<Cluster> {
      Cluster part = stand_along(cluster.resized(ranks));
      // On a single node, what is nested is what goes on within each node.
      return algorithm_.levels || supported(ranks) ? std::optional(std::move(part)) : std::nullopt;
    };
    const int fewer = std::max(many_ranks / 2, least_nodes * unit);
    const auto may_halve = [&] { return most / 2 >= std::max(4 * least_ranks, fewest_nodes * unit); };
    auto part = with(most);
    auto largest = part ? evaluate_what_can_be(*part, nullptr) : std::nullopt;
    while (part && !largest && may_halve()) {
      most = most > fewer ? fewer : most / 2;
      part = with(most);
      largest = part ? evaluate_what_can_be(*part, nullptr) : std::nullopt;
    }
    if (part && !largest) largest = predict(*part, nullptr);
    if (!largest) return std::nullopt;
    Parts parts{{0, 0, 0, largest->seconds}, 3, most};
    for (; parts.first > 0 && std::isfinite(parts.seconds[parts.first]); --parts.first) {
      const int ranks = most >> (4 - parts.first);
      // A single node says nothing of the network.
      if (parts.first < 3 && unit > 1 && ranks <= unit) break;
      part = with(ranks);
      const auto seconds = part ? seconds_of(predict(*part, nullptr)) : std::nullopt;
      if (!seconds) break;
      parts.seconds[parts.first - 1] = *seconds;
    }
    return parts.first < 3 || std::isinf(parts.seconds[3]) ? std::optional(parts) : std::nullopt;
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

  [[nodiscard]] std::optional<Prediction> predicted(const Cluster& cluster, const Barrier* barrier) const {
    if (cluster.ranks() > limits_.max_ranks) return predicted_quickly(cluster);
    // To build schedules of very many messages takes longer than to extrapolate from fewer ranks.
    const bool very_many = cluster.ranks() > very_many_ranks;
    const Predictor first = another(from_first(), limits_);
    if (very_many && pieces_of(first.schedule(0, many_messages_ranks)) * cluster.period() > most_pieces / 4)
      return no_less(over_ranks_of_any_length(cluster), 0);
    // The schedules of very many ranks take long to build, too, where no few of them stand for all.
    if (const auto evaluated = very_many ? evaluate_symmetric(cluster) : evaluate_what_can_be(cluster, barrier))
      return evaluated;
    return no_less(extrapolated(cluster, barrier), least_s(cluster));
  }

  [[nodiscard]] std::optional<Prediction> predicted_quickly(const Cluster& cluster) const {
    if (has_root(call_.collective) || cluster.ranks() > soon_ranks)
      return no_less(over_ranks_of_any_length(cluster), 0);
    const double least = least_s(cluster);
    const auto of_few = cluster.cores() == 0 ? predicted_by_few(cluster, least) : std::nullopt;
    if (of_few && !effort_->given_up) return of_few;
    effort_->given_up = false;
    return no_less(over_ranks_of_any_length(cluster), least);
  }

  /// Where few ranks stand for all, they tell more than what fewer ranks would do. With a root all are different.
  [[nodiscard]] std::optional<Prediction> predicted_by_few(const Cluster& cluster, double least) const {
    const std::int64_t most = std::clamp(static_cast<std::int64_t>(least * pieces_per_s), soon_pieces, few_pieces);
    if (const auto symmetric = pieces_of_few(cluster) <= most ? evaluate_symmetric(cluster) : std::nullopt)
      return symmetric;
    return no_less(over_bytes_of_few(cluster, most / 2), least);
  }

  [[nodiscard]] std::optional<double> extrapolated(const Cluster& cluster, const Barrier* barrier) const {
    if (most_pieces_ < most_pieces) return give_up();
    const bool few = whole_nodes(cluster, limits_) > 1 && cluster.nodes() <= least_nodes;
    if (cluster.ranks() <= 4 * least_ranks) return over_bytes(cluster, barrier);
    const bool alike = whole_nodes(cluster, limits_) == cluster.period();
    if (const auto seconds = alike ? over_bytes_of_few(cluster, most_pieces) : std::nullopt) return seconds;
    if (few && (cluster.nodes() <= fewest_nodes || shrinks(cluster.ranks()))) return over_bytes(cluster, barrier);
    return over_ranks_of_any_length(cluster);
  }

  /// Where a message is cut into shorter blocks for more ranks, their bytes hide at first how their number grows.
  [[nodiscard]] std::optional<double> over_ranks_of_any_length(const Cluster& cluster) const {
    const Predictor least = another(shortest(cluster.ranks()), limits_);
    const bool may_hide = !has_blocks(call_.collective) && (!is_quick(limits_) || whole_nodes(cluster, limits_) > 1);
    const bool hides = may_hide && least.call_.bytes < call_.bytes;
    return std::max(over_ranks(cluster), hides ? least.over_ranks(cluster) : std::nullopt);
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

  /// Extrapolates long messages: each doubling adds twice what the doubling before added. `evaluate` returns a shorter
  /// call's time, or nothing where that takes long. Halving keeps the way in which bcast and allreduce divide messages
  /// into blocks, as long as these have elements.
  template <typename Evaluate>
  [[nodiscard]] std::optional<double> over_shorter(const Evaluate& evaluate) const {
    PredictedCall call = call_;
    std::optional<double> twice;
    while (!twice && is_halved_twice(call)) {
      call.bytes /= 2;
      twice = evaluate(call);
    }
    if (!twice || std::isinf(*twice)) return twice;
    const std::int64_t longer = call.bytes;
    call.bytes /= 2;
    const std::optional<double> once = evaluate(call);
    if (!once) return std::nullopt;
    const auto per = static_cast<double>(longer - call.bytes);
    return *twice + (*twice - *once) * static_cast<double>(call_.bytes - longer) / per;
  }
  static bool is_halved_twice(const PredictedCall& call) { return call.bytes >= 4 * call.element_bytes; }

  /// Extrapolates from messages that all ranks are evaluated for, however long that takes for the shortest.
  [[nodiscard]] double over_bytes(const Cluster& cluster, const Barrier* barrier) const {
    const std::int64_t most = cluster.ranks() > many_ranks ? most_pieces / 8 : most_pieces / 2;
    const auto evaluate = [&](const PredictedCall& call) -> std::optional<double> {
      const Predictor shorter = another(call, limits_);
      if (is_halved_twice(call) && shorter.total_pieces(cluster.ranks()) > most) return std::nullopt;
      constexpr bool patient = true;
      return shorter.evaluate_all(shorter.all_schedules(cluster.ranks()), cluster, barrier, patient);
    };
    const auto seconds = over_shorter(evaluate);
    return seconds ? *seconds : *evaluate(call_);
  }

  /// Extrapolates where few ranks stand for all; returns nothing where none do, or messages are short.
  [[nodiscard]] std::optional<double> over_bytes_of_few(const Cluster& cluster, std::int64_t most) const {
    const auto build = [&](int rank) { return schedule(rank, cluster.ranks()); };
    if (another(shortest(cluster.ranks()), {}).pieces_of_few(cluster) > most) return std::nullopt;
    const Symmetry symmetry = find_symmetry(build, cluster.ranks(), cluster.period(), call_.root, is_quick(limits_));
    if (symmetry.whole()) return std::nullopt;
    return over_shorter([&](const PredictedCall& call) -> std::optional<double> {
      const Predictor shorter = another(call, limits_);
      if (shorter.pieces_of_few(cluster) > most) return std::nullopt;
      return shorter.evaluate_period(cluster, symmetry);
    });
  }
};

}  // namespace

std::optional<double> predict_from_fewer_ranks(const PredictedCall& call, const Algorithm& algorithm,
                                               const Parameters& parameters, const Cluster& cluster) {
  return Predictor(call, algorithm, parameters).over_ranks(cluster);
}

std::optional<Prediction> predict(const PredictedCall& call, const Algorithm& algorithm, const Parameters& parameters,
                                  const Cluster& cluster, const Barrier* barrier, const PredictionLimits& limits) {
  if (call.root < 0 || call.root >= cluster.ranks()) return std::nullopt;
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
