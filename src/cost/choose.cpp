// SPDX-License-Identifier: Apache-2.0
// The model's choice: each algorithm with the parameters that the model finds best for it.
#include <algorithm>
#include <map>

#include "antiphon/closed_forms.hpp"
#include "antiphon/cost.hpp"
#include "antiphon/error.hpp"

namespace antiphon {

namespace {

/// Pieces shorter than this are mostly headers.
constexpr std::int64_t least_piece_bytes = 1024;

bool is_piece_size(std::string_view name) {
  return name == "segment_bytes" || name == "piece_bytes" || name == "block_bytes";
}

/// Returns the values to try for a parameter that is not a piece size. Other parameters keep their defaults.
std::vector<std::int64_t> values_of(const Parameter& p) {
  std::vector<std::int64_t> values;
  if (p.name == "window") values = {1, 2, 4, 8};
  if (p.name == "radix") values = {2, 3, 4, 8};
  if (p.name == "concurrency" || p.name == "destinations" || p.name == "senders") values = {1, 2, 4};
  std::erase_if(values, [&](std::int64_t v) { return v < p.min || v > p.max || v == p.default_value; });
  return values;
}

class Search {
 public:
  Search(const PredictedCall& call, const Algorithm& algorithm, const Cluster& cluster, const SearchOptions& options)
      : call_(call), algorithm_(algorithm), cluster_(cluster), left_(options.max_evaluations) {
    best_.algorithm = &algorithm;
    best_.parameters = resolve_parameters(algorithm, {});
  }

  std::optional<RankedChoice> run(bool search) {
    if (!try_out(best_.parameters)) return std::nullopt;
    if (search) {
      // The search runs twice, because a window that suits the first piece size need not suit the best one.
      for (int round = 0; round < 2; ++round) {
        const Parameters before = best_.parameters;
        for (std::size_t i = 0; i < algorithm_.parameters.size(); ++i) improve(i);
        if (best_.parameters == before) break;
      }
    }
    best_.closed_form_s = closed_form_of(algorithm_, best_.parameters, cluster_.ranks(), call_.bytes,
                                         cluster_.link(0, cluster_.ranks() - 1));
    return best_;
  }
  [[nodiscard]] const std::optional<LeftOut>& left_out() const { return left_out_; }

 private:
  /// Returns whether the bytes under way to one rank stay within what the network was seen to hold.
  [[nodiscard]] bool within_credit(const Parameters& parameters) const {
    const std::int64_t credit = cluster_.profile().contention.credit_bytes;
    if (credit <= 0) return true;
    std::int64_t piece = -1;
    std::int64_t window = 1;
    for (const ParameterValue& p : parameters) {
      if (is_piece_size(p.name))
        piece = p.value == 0 ? call_.bytes : std::min(p.value, std::max<std::int64_t>(call_.bytes, 1));
      if (p.name == "window" || p.name == "destinations" || p.name == "senders") window *= p.value;
    }
    return piece <= least_piece_bytes || piece * window <= credit;
  }

  bool try_out(const Parameters& parameters) {
    if (const auto known = known_.find(key(parameters)); known != known_.end()) return known->second >= 0;
    if (left_ <= 0) return false;
    --left_;
    const auto prediction = predicted(parameters);
    known_[key(parameters)] = prediction ? prediction->seconds : -1;
    if (!prediction) return false;
    // A gain below a thousandth is rounding, so the default, which is tried first, stays.
    if (best_.seconds > 0 && prediction->seconds >= best_.seconds * 0.999) return true;
    best_.parameters = parameters;
    best_.seconds = prediction->seconds;
    best_.method = prediction->method;
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
    if (!is_piece_size(p.name)) {
      for (const std::int64_t value : values_of(p)) {
        if (within_credit(with(value))) try_out(with(value));
      }
      return;
    }
    constexpr double never = 1e300;
    search_segment_bytes(call_.bytes, least_piece_bytes, [&](std::int64_t size) {
      const Parameters tried = with(std::clamp(size, std::max<std::int64_t>(p.min, 1), p.max));
      if (!within_credit(tried) || !try_out(tried)) return never;
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
  RankedChoice best_;
  std::optional<LeftOut> left_out_;
  std::map<std::vector<std::int64_t>, double> known_;
};

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
  std::vector<RankedChoice> candidates;
  for (const Algorithm* algorithm : algorithms_for(call.collective)) {
    if (auto best = best_parameters(call, *algorithm, cluster, options, left_out))
      candidates.push_back(std::move(*best));
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
