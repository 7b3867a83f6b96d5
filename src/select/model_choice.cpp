// SPDX-License-Identifier: Apache-2.0
#include "antiphon/model_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "antiphon/error.hpp"
#include "antiphon/index.hpp"
#include "cost/in_order.hpp"
#include "cost/pieces.hpp"
#include "cost/values.hpp"
#include "cost/ways.hpp"
#include "profile/hosts.hpp"
#include "select/doubt.hpp"
#include "select/first_look.hpp"
#include "select/guess_limits.hpp"

namespace antiphon {

namespace {

/// Of very many ranks, so many tell what all send over uplinks.
constexpr int few_of_very_many = 8;
/// What all candidates together may take, in pieces of messages: about 5 ms, four times that for many ranks, and up to
/// that much where it is a quarter of the time of one call.
constexpr std::int64_t pieces_for_few_ranks = 8192;
constexpr std::int64_t pieces_for_many_ranks = 4 * pieces_for_few_ranks;
constexpr std::int64_t pieces_for_long_calls = 4 * pieces_for_many_ranks;
/// Nested schedules with more operations take long to build.
constexpr std::int64_t most_composed = 1 << 14;
constexpr std::int64_t most_rate_updates = 1 << 14;
/// The choices that others are held against, and what goes over many connections, are given up after about 0.1 s.
constexpr std::int64_t most_rate_updates_of_favourite = 1 << 18;
/// Another of ours replaces the table's where it is predicted to be faster by this factor: less where one connection
/// was seen not to fill a port, which the table knows nothing of.
constexpr double clearly_faster = 1.2;
constexpr double faster_on_slow_connections = 1.05;
/// Where ranks are on several switches, what takes at most so many times as long and sends clearly less over uplinks is
/// preferred: other jobs use them, too.
constexpr double hardly_slower = 1.1;
constexpr double clearly_less = 1.1;
/// Ours replaces the library's where it is predicted to be faster by this factor and, on a guessed profile, by this
/// much time; in recorded runs such choices hardly ever lost.
constexpr double worth_taking = 1.25;
constexpr double least_guessed_gain_s = 30e-6;
/// The library's replaces ours where it is predicted to be faster by this factor. It is more because the model knows of
/// no losses, and is too kind to what sends without a schedule.
constexpr double worth_leaving = 2.0;
/// Where nodes share cores, little is known of more ranks than these of one node.
constexpr int most_known_sharing = 16;
constexpr std::array<std::int64_t, 3> pieces_ahead{1, 2, 4};
/// Of many ranks, what all candidates together may take is enough for so many.
constexpr int tried_at_least = 8;

/// Returns the limits for the choices that others are held against.
PredictionLimits for_favourite() {
  PredictionLimits limits;
  limits.max_ranks = most_ranks;
  limits.max_rate_updates = most_rate_updates_of_favourite;
  limits.one_order = true;
  return limits;
}

PredictionLimits quick_prediction(double max_seconds, std::int64_t max_rate_updates) {
  PredictionLimits limits = for_favourite();
  limits.max_seconds = max_seconds;
  limits.max_rate_updates = max_rate_updates;
  return limits;
}

/// The tables were measured where one connection fills a port.
bool tables_hold(const Cluster& cluster) { return measured_port_share(cluster) >= 1; }

class BestOfOurs {
 public:
  BestOfOurs(const PredictedCall& call, const Cluster& cluster, const Choice& favourite)
      : call_(call), cluster_(cluster), favourite_(favourite), over_lanes_(lanes_of(call.collective, cluster) > 1),
        clearly_faster_(tables_hold(cluster) ? clearly_faster : faster_on_slow_connections) {
    Places places = cluster.places(call.root_if_any());
    call_.node_sizes = std::move(places.node_sizes);
    call_.switch_sizes = std::move(places.switch_sizes);
    if (!places.order.empty()) along_nodes_ = in_order(call_, cluster, places.order);
    if (favourite.algorithm == nullptr) return;
    try_out(favourite, for_favourite());
    pieces_ = 0;
    knows_favourite_ = !gave_up_;
    favourite_s_ = best_s_;
    least_s_ = look(favourite).least_s;
    if (!knows_favourite_) try_out_if_it_may_win(with_few_pieces(favourite));
    const Choice with_defaults{favourite.algorithm, resolve_parameters(*favourite.algorithm, {}), {}};
    const bool other = with_defaults.parameters != favourite.parameters;
    if (other && may_win(look(with_defaults))) try_out(with_defaults);
    // Several connections come before longer pieces, which are sent over them.
    if (over_lanes_) {
      std::vector<LookedAt> over_lanes;
      add_candidates(*favourite.algorithm, ways_of(*favourite.algorithm, call_, cluster), over_lanes);
      try_out(over_lanes);
    }
    same_algorithm_ = best_;
    same_algorithm_s_ = best_s_;
    // These two were evaluated in any case; those with longer pieces take less to evaluate.
    pieces_ = 0;
    try_out_others(Role::piece, longer_pieces);
  }

  void try_all() {
    std::vector<LookedAt> candidates;
    for (const Algorithm* a : algorithms_on(cluster_, call_.collective)) {
      if ((a == favourite_.algorithm && !a->levels) || a->multicasts) continue;
      if (a->levels && !knows_nested(call_.bytes, cluster_)) continue;
      add_candidates(*a, ways_of(*a, call_, cluster_), candidates);
    }
    try_out(candidates);
  }

  /// Tries pieces of other sizes, and then with another number of them under way.
  void refine() {
    try_out_others(Role::piece, piece_sizes);
    try_out_others(Role::piece, longer_pieces);
    try_out_others(Role::ahead, pieces_ahead);
  }

  /// Tries several ranks of each node, which send to other nodes at a time, in as much time as all others took.
  void try_leaders() {
    if (!knows_nested(call_.bytes, cluster_)) return;
    pieces_ = 0;
    const Choice before = best_;
    std::vector<LookedAt> candidates;
    for (const Algorithm* a : algorithms_for(call_.collective)) {
      if (a->levels) add_candidates(*a, ways_by_leaders(*a, call_, cluster_), candidates);
    }
    try_out(candidates);
    if (best_.algorithm == nullptr || best_.parameters == before.parameters) return;
    pieces_ = 0;
    if (const auto more = with_leaders(*best_.algorithm, best_.parameters, most_leaders, call_, cluster_))
      try_out_if_it_may_win(with_few_pieces({best_.algorithm, *more, {}}));
  }

  /// Tells whether the favourite was predicted in the time that is given.
  [[nodiscard]] bool knows_favourite() const { return knows_favourite_; }
  /// Returns less than what any algorithm needs, the library's too.
  [[nodiscard]] double least_s() const { return least_s_; }

  void prefer_best(ModelAnswer& answer) const {
    answer.own = best_;
    answer.own_s = best_s_;
  }

  /// Returns the best, or what is about as fast and nearer to the favourite.
  [[nodiscard]] std::optional<ModelAnswer> answer() const {
    if (best_.algorithm == nullptr) return std::nullopt;
    ModelAnswer answer;
    prefer_best(answer);
    // Nothing is changed without a clear gain, and first the parameters, then the algorithm.
    if (best_.algorithm != same_algorithm_.algorithm && same_algorithm_s_ <= best_s_ * clearly_faster_)
      answer.own = same_algorithm_, answer.own_s = same_algorithm_s_;
    if (favourite_s_ <= answer.own_s * clearly_faster_) answer.own = favourite_, answer.own_s = favourite_s_;
    spare_uplinks(answer);
    return answer;
  }

 private:
  /// Returns whether ranks are numbered along the nodes for an algorithm.
  [[nodiscard]] bool goes_along_nodes(const Choice& choice) const {
    return along_nodes_ && may_reorder(*choice.algorithm, call_.commutative);
  }
  /// Returns the call on the cluster, as the choice's places see them.
  [[nodiscard]] const PredictedCall& call_for(const Choice& choice) const {
    return goes_along_nodes(choice) ? along_nodes_->first : call_;
  }
  [[nodiscard]] const Cluster& cluster_for(const Choice& choice) const {
    return goes_along_nodes(choice) ? along_nodes_->second : cluster_;
  }

  [[nodiscard]] FirstLook look(const Choice& choice) const {
    return look_at(call_for(choice), choice, cluster_for(choice));
  }

  /// Returns the choice, with longer pieces where it has too many: of many ranks several choices must fit, not one.
  [[nodiscard]] LookedAt with_few_pieces(const Choice& choice) const {
    const std::int64_t most = most_pieces();
    return look_at_fewer_pieces(call_for(choice), choice, cluster_for(choice),
                                {cluster_.ranks() > most_ranks ? most / tried_at_least : most, most});
  }

  void add_candidates(const Algorithm& a, const std::vector<Parameters>& ways, std::vector<LookedAt>& to) const {
    for (const Parameters& parameters : ways) {
      if (!supports(a, problem_of(call_, 0, cluster_.ranks(), a, parameters))) continue;
      to.push_back(with_few_pieces({&a, parameters, {}}));
      // Its other ways take as long to build.
      if (to.back().look.composed > most_composed) break;
    }
  }

  /// Tries those first that need the least of links.
  void try_out(std::vector<LookedAt>& candidates) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const LookedAt& a, const LookedAt& b) { return a.look.least_s < b.look.least_s; });
    if (!candidates.empty()) least_s_ = std::min(least_s_, candidates.front().look.least_s);
    for (const LookedAt& c : candidates) try_out_if_it_may_win(c);
  }

  void try_out_others(Role role, std::span<const std::int64_t> values) {
    const Choice found = best_;
    if (found.algorithm == nullptr) return;
    for (std::size_t i = 0; i < found.parameters.size(); ++i) {
      if (found.algorithm->parameters[i].role != role) continue;
      for (const std::int64_t value : values) {
        if (value == found.parameters[i].value || (role == Role::piece && value > call_.bytes)) continue;
        Choice other = found;
        other.parameters[i].value = value;
        if (!within_credit(*other.algorithm, other.parameters, call_, cluster_)) continue;
        if (may_win(look(other))) try_out(other);
      }
    }
  }

  /// Tells whether this may be clearly faster than what is known, and can be evaluated in the time that is left.
  [[nodiscard]] bool may_win(const FirstLook& look) const {
    // Where there are uplinks, what is about as fast may spare them.
    const double gain = call_.switch_sizes.empty() ? clearly_faster_ : 1 / hardly_slower;
    const bool in_time = look.composed <= most_composed && pieces_ + look.pieces <= most_pieces();
    return in_time && look.least_s * gain < best_s_;
  }

  void try_out_if_it_may_win(const LookedAt& candidate) {
    if (may_win(candidate.look)) try_out(candidate.choice);
  }

  void try_out(const Choice& choice) {
    const double worth_knowing = call_.switch_sizes.empty() ? 1 : hardly_slower;
    // Flows over many connections have many rates.
    const bool many = choice.algorithm->many_connections || over_lanes_;
    const std::int64_t rate_updates = many ? most_rate_updates_of_favourite : most_rate_updates;
    PredictionLimits limits = quick_prediction(best_s_ * worth_knowing, rate_updates);
    if (few_stand_for_all(call_.collective, cluster_)) limits.max_pieces = pieces_for_many_ranks;
    try_out(choice, limits);
  }
  void try_out(const Choice& choice, const PredictionLimits& limits) {
    if (pieces_ > most_pieces()) return;
    try {
      const auto predicted = predict(call_, *choice.algorithm, choice.parameters, cluster_, nullptr, limits);
      if (!predicted) return;
      pieces_ += predicted->pieces;
      gave_up_ = std::isinf(predicted->seconds);
      if (std::isfinite(predicted->seconds) && !call_.switch_sizes.empty())
        tried_.emplace_back(choice, predicted->seconds);
      if (predicted->seconds >= best_s_) return;
      best_s_ = predicted->seconds;
      best_ = choice;
    } catch (const Error&) {
      pieces_ += 1;  // What cannot be evaluated is no contender.
    }
  }

  [[nodiscard]] std::int64_t most_pieces() const {
    const std::int64_t most = cluster_.ranks() > most_ranks ? pieces_for_many_ranks : pieces_for_few_ranks;
    if (std::isinf(best_s_)) return most;
    return std::clamp(static_cast<std::int64_t>(best_s_ * pieces_per_s), most, pieces_for_long_calls);
  }

  /// Takes what sends clearly less over uplinks, which others use too, in hardly more time.
  void spare_uplinks(ModelAnswer& answer) const {
    if (call_.switch_sizes.empty()) return;
    std::int64_t least = uplink_bytes(answer.own);
    const double most_s = answer.own_s * hardly_slower;
    for (const auto& [choice, seconds] : tried_) {
      if (seconds > most_s) continue;
      const std::int64_t bytes = uplink_bytes(choice);
      if (static_cast<double>(bytes) * clearly_less > static_cast<double>(least)) continue;
      least = bytes;
      answer.own = choice;
      answer.own_s = seconds;
    }
  }

  /// Returns about what crosses from one switch to another, for comparisons.
  [[nodiscard]] std::int64_t uplink_bytes(const Choice& choice) const {
    const Cluster& cluster = cluster_for(choice);
    const auto switch_of = [&](int place) { return cluster.entry(cluster.node(place)).switch_index; };
    std::int64_t bytes = 0;
    // Of many ranks, some tell as much, with an odd step so that not all of them lead their nodes; of very many, which
    // take long to build, fewer, unless it is leaders that send.
    const bool few = cluster_.ranks() > very_many_ranks && !choice.algorithm->levels;
    const int step = std::max(cluster_.ranks() / (few ? few_of_very_many : most_ranks), 1) | 1;
    for (int place = 0; place < cluster_.ranks(); place += step) {
      const Schedule schedule = choice.algorithm->build(
          problem_of(call_for(choice), place, cluster.ranks(), *choice.algorithm, choice.parameters));
      for (const Op& op : schedule.ops()) {
        if (op.kind == OpKind::send && switch_of(place) != switch_of(op.peer)) bytes += op.bytes();
      }
    }
    return bytes * step;
  }

  PredictedCall call_;
  std::optional<std::pair<PredictedCall, Cluster>> along_nodes_;  ///< if ranks do not stand so
  std::vector<std::pair<Choice, double>> tried_;                  ///< that were predicted to the end
  const Cluster& cluster_;
  const Choice& favourite_;
  bool over_lanes_;  ///< one connection does not fill a port
  double clearly_faster_;
  Choice best_;
  double best_s_ = std::numeric_limits<double>::infinity();
  double favourite_s_ = std::numeric_limits<double>::infinity();
  Choice same_algorithm_;  ///< the favourite's, with its own parameters or the defaults
  double same_algorithm_s_ = std::numeric_limits<double>::infinity();
  double least_s_ = std::numeric_limits<double>::infinity();
  std::int64_t pieces_ = 0;
  bool gave_up_ = false;  ///< the last candidate
  bool knows_favourite_ = true;
};

std::string in_milliseconds(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g ms", seconds * 1e3);
  return text.data();
}

/// Returns how many times as fast as ours the library's must be to replace it: less if ours is not the table's. Where
/// hosts bind, an alltoall in pieces costs them more: there, by a guess, it is enough to be as fast.
double enough_to_leave(const Question& question, bool guessed, bool is_tables) {
  const bool host_bound = question.collective == Collective::alltoall && guessed &&
                          static_cast<double>(question.link_bits_per_s) >= host_bound_bits_per_s;
  if (host_bound) return 1;
  return is_tables ? worth_leaving : clearly_faster;
}

}  // namespace

std::optional<ModelAnswer> ask_model(const Question& question, const Cluster& cluster, const Choice& of_table,
                                     const Choice& favourite, const LibraryAlgorithms* library) {
  if (question.bytes < 0 || question.ranks < 3 || cluster.nodes() < 2) return std::nullopt;
  const bool guessed = cluster.profile().first_guess;
  const bool takes_from_library = of_table.algorithm == nullptr;
  if (!takes_from_library && of_table.algorithm->levels && !knows_nested(question.bytes, cluster)) return std::nullopt;
  if (guessed && question.bytes < least_bytes_to_guess(question)) return std::nullopt;
  if (takes_from_library && library == nullptr) return std::nullopt;
  const int known_sharing = std::max(most_ranks, cluster.nodes() * most_known_sharing);
  if (cluster.cores() > 0 && cluster.ranks() > known_sharing) return std::nullopt;
  const PredictedCall call{question.collective,    question.bytes,       0,
                           question.element_bytes, question.commutative, question.nonblocking};
  const Cluster sharing = cluster.sharing_memory();
  BestOfOurs ours(call, sharing, favourite);
  // What cannot be compared with the table's choice does not replace it.
  if (!takes_from_library && !ours.knows_favourite()) return std::nullopt;
  ours.try_all();
  ours.refine();
  ours.try_leaders();
  auto answer = ours.answer();
  if (!answer) return std::nullopt;
  answer->guessed = guessed;
  const bool is_tables = answer->own.algorithm == of_table.algorithm && tables_hold(sharing);
  const double leaving = enough_to_leave(question, guessed, is_tables);
  answer->enough = takes_from_library ? worth_taking : 1 / leaving;
  // Where ours is near the least that anything takes, the library's cannot be faster by as much as is asked.
  if (library == nullptr || (!takes_from_library && answer->own_s < ours.least_s() * leaving)) return answer;
  const double enough_s = std::max(answer->own_s * answer->enough, answer->own_s + least_guessed_gain_s);
  answer->library_s =
      library->predict_seconds(call, cluster, quick_prediction(enough_s, most_rate_updates_of_favourite));
  // Where the library's is faster than ours, only the best of ours will do; a guess is not sure enough of that.
  if (!guessed && answer->library_s < answer->own_s) ours.prefer_best(*answer);
  if (guessed && takes_from_library && cluster.cores() == 0) doubt(*answer, call, cluster, *library, for_favourite());
  return answer;
}

Choice choose_between(const Choice& of_table, const ModelAnswer& answer) {
  Choice own = answer.own;
  own.reason = "the model: " + in_milliseconds(answer.own_s);
  const bool takes_from_library = of_table.algorithm == nullptr;
  bool ours = !takes_from_library;
  if (answer.library_s) {
    const double gain_s = *answer.library_s - answer.own_s;
    const bool matters = !takes_from_library || !answer.guessed || gain_s >= least_guessed_gain_s;
    ours = matters && *answer.library_s >= answer.own_s * answer.enough;
    own.reason += std::isinf(*answer.library_s) ? ", the library's longer"
                                                : ", the library's " + in_milliseconds(*answer.library_s);
  }
  if (!ours && takes_from_library) return of_table;
  if (!ours) return {nullptr, {}, own.reason + " (with " + std::string(own.algorithm->name) + ": the former)"};
  return own.to_string() == of_table.to_string() ? of_table : own;
}

}  // namespace antiphon
