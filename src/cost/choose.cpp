// SPDX-License-Identifier: Apache-2.0
// The model's choice: each algorithm with the parameters that the model finds best for it.
#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <map>

#include "antiphon/closed_forms.hpp"
#include "antiphon/cost.hpp"
#include "antiphon/error.hpp"
#include "cost/values.hpp"
#include "cost/ways.hpp"

namespace antiphon {

namespace {

/// A gain below a thousandth is rounding. Ways to keep messages from meeting cost something in the model, which does
/// not know what is lost where they meet: only a clear gain does without.
constexpr double clearly_faster = 0.95;
constexpr double faster = 0.999;
/// With so many evaluations the search comes to all ways among nodes by itself.
constexpr int enough_for_ways = 32;

class Search {
 public:
  Search(const PredictedCall& call, const Algorithm& algorithm, const Cluster& cluster, const SearchOptions& options)
      : call_(call), algorithm_(algorithm), cluster_(cluster), left_(options.max_evaluations),
        pieces_left_(options.max_pieces) {
    best_.algorithm = &algorithm;
  }

  std::optional<RankedChoice> run(bool search) {
    const Parameters defaults = resolve_parameters(algorithm_, {});
    const Parameters measured = at_measured_concurrency(defaults);
    if (search && within_credit(algorithm_, measured, call_, cluster_)) try_out(measured);
    if (best_.seconds <= 0 && !try_out(defaults)) return std::nullopt;
    if (search && algorithm_.levels && left_ < enough_for_ways) try_ways();
    if (search && lanes_of(call_.collective, cluster_) > 1) {
      for (const Parameters& way : ways_of(algorithm_, call_, cluster_)) try_out(way);
    }
    if (search) {
      // The search runs twice, because a window that suits the first piece size need not suit the best one.
      for (int round = 0; round < 2; ++round) {
        const Parameters before = best_.parameters;
        for (std::size_t i = 0; i < algorithm_.parameters.size(); ++i) improve(i);
        if (best_.parameters == before) break;
      }
    }
    best_.closed_form_s =
        closed_form_of(algorithm_, best_.parameters, cluster_.ranks(), call_.bytes, cluster_.longest_link());
    return best_;
  }
  [[nodiscard]] const std::optional<LeftOut>& left_out() const { return left_out_; }

 private:
  /// What may run among nodes, and with how many leaders, differs as algorithms do: all of it is tried, however few
  /// other parameters are.
  void try_ways() {
    const int left = left_;
    std::vector<Parameters> ways = ways_of(algorithm_, call_, cluster_);
    for (Parameters& way : ways_by_leaders(algorithm_, call_, cluster_)) ways.push_back(std::move(way));
    left_ = static_cast<int>(ways.size()) + 1;
    for (const Parameters& way : ways) try_out(way);
    if (const auto most = with_leaders(algorithm_, best_.parameters, most_leaders, call_, cluster_)) try_out(*most);
    left_ = left;
  }

  /// The search begins with as many messages at once as were seen to pay.
  [[nodiscard]] Parameters at_measured_concurrency(Parameters parameters) const {
    const Concurrency* const measured = measured_concurrency(call_, cluster_);
    const auto at_once = parameter_for(Role::at_once, algorithm_);
    if (measured == nullptr || !at_once) return parameters;
    const Parameter& p = algorithm_.parameters[*at_once];
    parameters[*at_once].value = std::clamp<std::int64_t>(measured->index, p.min, p.max);
    return parameters;
  }

  /// Returns how much longer messages take at once than one after the other, where that was measured. The model's ports
  /// are shared without loss.
  [[nodiscard]] double hindrance(const Parameters& parameters) const {
    const Concurrency* const measured = measured_concurrency(call_, cluster_);
    const auto at_once = parameter_for(Role::at_once, algorithm_);
    const bool more = measured != nullptr && at_once && parameters[*at_once].value > measured->index;
    return more ? std::max(1.0, measured->two_destinations_ratio / 2) : 1;
  }

  /// Returns whether the model knows these parameters. The best so far stays unless they take less than `most` of its
  /// time.
  bool try_out(const Parameters& parameters, double most = faster) {
    if (const auto known = known_.find(key(parameters)); known != known_.end()) return known->second >= 0;
    if (left_ <= 0 || pieces_left_ <= 0) return false;
    --left_;
    const auto prediction = predicted(parameters);
    if (prediction) pieces_left_ -= prediction->pieces;
    const double judged_s = prediction ? prediction->seconds * hindrance(parameters) : -1;
    known_[key(parameters)] = judged_s;
    if (!prediction) return false;
    if (best_.seconds > 0 && judged_s >= best_judged_s_ * most) return true;
    best_.parameters = parameters;
    best_.seconds = prediction->seconds;
    best_.method = prediction->method;
    best_judged_s_ = judged_s;
    return true;
  }

  std::optional<Prediction> predicted(const Parameters& parameters) {
    try {
      return predict(call_, algorithm_, parameters, cluster_);
    } catch (const Error& error) {
      if (!left_out_) left_out_ = {&algorithm_, parameters, error.what()};
      return std::nullopt;
    }
  }

  void improve(std::size_t i) {
    const Parameter& p = algorithm_.parameters[i];
    const auto with = [&](std::int64_t value) {
      Parameters changed = best_.parameters;
      changed[i].value = value;
      return changed;
    };
    const auto allowed = [&](const Parameters& parameters) {
      return within_credit(algorithm_, parameters, call_, cluster_);
    };
    if (p.role != Role::piece) {
      const bool keeps_apart = p.role == Role::mode || p.role == Role::border;
      for (const std::int64_t value : values_to_try(p, call_, cluster_)) {
        if (allowed(with(value))) try_out(with(value), keeps_apart ? clearly_faster : faster);
      }
      return;
    }
    constexpr double never = 1e300;
    search_segment_bytes(call_.bytes, least_piece_bytes, [&](std::int64_t size) {
      const Parameters tried = with(std::clamp(size, std::max<std::int64_t>(p.min, 1), p.max));
      if (!allowed(tried) || !try_out(tried)) return never;
      return known_[key(tried)];
    });
  }

  static std::vector<std::int64_t> key(const Parameters& parameters) {
    std::vector<std::int64_t> values;
    for (const ParameterValue& p : parameters) values.push_back(p.value);
    return values;
  }

  const PredictedCall& call_;
  const Algorithm& algorithm_;
  const Cluster& cluster_;
  int left_;
  std::int64_t pieces_left_;
  RankedChoice best_;
  double best_judged_s_ = 0;  ///< its time with what hinders it
  std::optional<LeftOut> left_out_;
  std::map<std::vector<std::int64_t>, double> known_;
};

/// Calls task(0), …, task(count − 1) on at most so many threads; each takes the next index that is left.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) task(i);
  };
  std::vector<std::future<void>> others;
  while (std::ssize(others) + 1 < std::min<std::ptrdiff_t>(threads, static_cast<std::ptrdiff_t>(count)))
    others.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& other : others) other.get();
}

}  // namespace

std::optional<RankedChoice> best_parameters(const PredictedCall& call, const Algorithm& algorithm,
                                            const Cluster& cluster, const SearchOptions& options,
                                            std::vector<LeftOut>* left_out) {
  Search search(call, algorithm, cluster, options);
  auto best = search.run(options.parameters);
  if (left_out != nullptr && !best && search.left_out()) left_out->push_back(*search.left_out());
  return best;
}

std::vector<RankedChoice> rank_candidates(const PredictedCall& call, const Cluster& cluster,
                                          const SearchOptions& options, std::vector<LeftOut>* left_out) {
  const auto algorithms = algorithms_on(cluster, call.collective);
  struct Found {
    std::optional<RankedChoice> best;
    std::vector<LeftOut> left_out;
  };
  std::vector<Found> found(algorithms.size());
  for_each_index(algorithms.size(), options.threads, [&](std::size_t i) {
    found[i].best = best_parameters(call, *algorithms[i], cluster, options, &found[i].left_out);
  });
  std::vector<RankedChoice> candidates;
  for (Found& one : found) {
    if (one.best) candidates.push_back(std::move(*one.best));
    if (left_out != nullptr) left_out->insert(left_out->end(), one.left_out.begin(), one.left_out.end());
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const RankedChoice& a, const RankedChoice& b) { return a.seconds < b.seconds; });
  return candidates;
}

std::optional<Choice> choose_by_model(const Question& question, const Profile& profile) {
  if (question.bytes < 0 || question.ranks < 2) return std::nullopt;
  const PredictedCall call{question.collective, question.bytes, 0, question.element_bytes, question.commutative};
  const Cluster cluster = question.blocked ? Cluster::blocked(profile, question.ranks, question.max_ranks_per_node)
                                           : Cluster::round_robin(profile, question.ranks, question.nodes);
  const auto candidates = rank_candidates(call, cluster);
  if (candidates.empty()) return std::nullopt;
  const RankedChoice& best = candidates.front();
  std::string reason = "the model: " + std::to_string(best.seconds * 1e3) + " ms";
  if (candidates.size() > 1)
    reason += ", next " + std::string(candidates[1].algorithm->name) + " " +
              std::to_string(candidates[1].seconds * 1e3) + " ms";
  return Choice{best.algorithm, best.parameters, reason};
}

}  // namespace antiphon
