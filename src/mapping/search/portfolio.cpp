// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/portfolio.hpp"

#include <algorithm>
#include <limits>

#include "antiphon/error.hpp"
#include "mapping/search/digits.hpp"
#include "mapping/search/link_search.hpp"
#include "mapping/search/recursive.hpp"
#include "mapping/search/shares.hpp"
#include "mapping/search/swaps.hpp"
#include "mapping/search/thread_time.hpp"
#include "mapping/slot_allocator.hpp"

namespace antiphon::mapping {

namespace {

/// Regular orders that cost this many times the first cut are given up.
constexpr double hopeless = 1.5;
/// They are also given up if common strides carry less than this share of the traffic.
constexpr double regular_enough = 0.25;
/// Methods that are fast for few ranks are not tried beyond this many.
constexpr int most_ranks_of_others = 8192;
/// A beginning that costs this many times the best one is left out.
constexpr double worth_improving = 1.12;

struct Candidate {
  Model::Placement placement;
  double cost = 0;
};

class Portfolio {
 public:
  Portfolio(const Task& task, const Budget& budget, bool with_scotch)
      : with_scotch_(with_scotch), begin_(thread_seconds()), budget_(budget), random_(budget.seed), model_(task),
        domains_(model_), near_(model_), swaps_(model_, domains_, near_, budget.seed), shares_(model_, budget.seed) {}

  Model::Placement run() {
    begin_with(model_.placement(block_assignment(model_.task())));
    begin_with(model_.placement(cyclic_assignment(model_.task())));
    // The first cut tells whether regular orders are worth their time.
    begin_with(recursive_bisection(model_, domains_, random_, 0));
    if (model_.ranks() <= most_ranks_of_others) {
      if (with_scotch_) begin_as("scotch");
      begin_as("greedy");
    }
    regular();
    explore();
    anneal();
    return model_.task().objective() == Objective::time ? quickest() : best_.placement;
  }

 private:
  /// The search that minimises the sum of all messages leaves half of the budget to the search for the predicted time.
  [[nodiscard]] double at_part(double part) const {
    return begin_ + part * budget_.seconds * (model_.task().objective() == Objective::time ? 0.5 : 1);
  }

  /// Where beginnings are fast, many of them find more than long annealing.
  [[nodiscard]] bool few() const { return model_.ranks() <= 1024; }

  void begin_with(Model::Placement placement) {
    const double cost = model_.total(placement);
    if (best_.placement.empty() || cost < best_.cost) best_ = {placement, cost};
    candidates_.push_back({std::move(placement), cost});
  }

  void keep(const Model::Placement& placement, double cost) {
    if (cost < best_.cost) best_ = {placement, cost};
  }

  [[nodiscard]] double predicted(const Model::Placement& placement) const {
    return objective_value(model_.task(), model_.assignment(placement));
  }

  /// Takes the candidate with the least predicted time and improves the times of its links and ranks.
  Model::Placement quickest() {
    candidates_.push_back(best_);
    candidates_.push_back({model_.placement(block_assignment(model_.task())), 0});
    candidates_.push_back({model_.placement(cyclic_assignment(model_.task())), 0});
    for (Candidate& c : candidates_) c.cost = predicted(c.placement);
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
    Candidate least = candidates_[0];
    constexpr int beginnings = 3;
    const double begin = thread_seconds();
    const double end = std::max(begin_ + budget_.seconds, begin);
    for (int n = 0; n < beginnings; ++n) {
      const double until = begin + (end - begin) * (n + 1) / beginnings;
      Candidate found{
          search_links(model_, domains_, candidates_[static_cast<std::size_t>(n)].placement, random_, until), 0};
      found.cost = predicted(found.placement);
      if (found.cost < least.cost) least = std::move(found);
    }
    return least.placement;
  }

  /// Returns another method's result, or nothing if that method cannot be used.
  Model::Placement placed_by(const char* name, std::uint64_t seed) {
    const Method* method = find_method(name);
    if (method == nullptr || (method->unavailable != nullptr && !method->unavailable().empty())) return {};
    try {
      return model_.placement(method->place(model_.task(), {budget_.seconds, seed}));
    } catch (const Error&) {
      // A method that refuses is simply not a candidate.
      return {};
    }
  }

  void begin_as(const char* name) {
    if (Model::Placement found = placed_by(name, budget_.seed); !found.empty()) begin_with(std::move(found));
  }

  void regular() {
    Digits digits(model_, domains_);
    if (digits.regularity() < regular_enough) return;
    // The beginnings before may have taken any time, so this step has a minimum of its own.
    const double until = std::max(at_part(0.2), thread_seconds() + 0.15 * budget_.seconds);
    const double cut = best_.cost;
    const double most = hopeless * cut;
    double turned = std::numeric_limits<double>::infinity();
    if (digits.turn()) {
      turned = climb(digits, (thread_seconds() + until) / 2, most);
      digits.turn();
    }
    const double plain = climb(digits, until, most);
    if (std::min(plain, turned) > most) return;
    if (turned < plain) digits.turn();
    // Further beginnings must beat those so far.
    while (thread_seconds() < until && digits.dimensions() > 1) {
      Model::Placement found = digits.climb(digits.mixed(random_), until);
      if (model_.total(found) < candidates_.back().cost) {
        candidates_.pop_back();
        begin_with(std::move(found));
      }
    }
  }

  /// Climbs from all plain orders until one costs more than `most`. Returns the least cost.
  double climb(const Digits& digits, double until, double most) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& start : digits.starts()) {
      if (thread_seconds() >= until) break;
      begin_with(digits.climb(start, until));
      if (candidates_.back().cost > most) return candidates_.back().cost;
      least = std::min(least, candidates_.back().cost);
    }
    return least;
  }

  /// Improves every beginning by ordering its nodes and exchanging its ranks. New ones follow as long as there is time,
  /// because many fast ones find more than one slow one.
  void explore() {
    const double until = at_part(!shares_.usable() ? 0.7 : few() ? 0.55 : 0.35);
    std::vector<Candidate> left = std::move(candidates_);
    candidates_.clear();
    std::sort(left.begin(), left.end(), [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
    const double enough = worth_improving * left[0].cost;
    for (Candidate& c : left) {
      if (c.cost <= enough && thread_seconds() < until) improve(std::move(c), until);
    }
    explore_afresh(until);
  }

  void explore_afresh(double until) {
    while (thread_seconds() < until) {
      const double before = thread_seconds();
      improve(fresh(), until);
      // The next one would not finish in time.
      if (thread_seconds() + 0.7 * (thread_seconds() - before) > until) break;
    }
  }

  /// Exchanges items until nothing helps. The result is in swaps_.
  void descend(const Model::Placement& placement, double until) {
    if (!shares_.usable()) {
      swaps_.set(placement);
      swaps_.descend(until);
      return;
    }
    shares_.set(placement);
    shares_.descend(until);
    settle(until);
  }

  /// Improves the order within nodes; ranks keep the nodes that shares_ gave them.
  void settle(double until) {
    swaps_.set(shares_.placement());
    if (shares_.order_matters()) swaps_.descend(until, true);
  }

  /// Every third beginning is Scotch's with another seed, because its cuts and ours fail on different traffic.
  Candidate fresh() {
    const std::size_t n = fresh_++;
    Model::Placement found;
    if (with_scotch_ && few() && n % 3 == 0) found = placed_by("scotch", budget_.seed + 1 + 2 * (n / 3));
    if (found.empty()) found = cut_afresh();
    const double cost = model_.total(found);
    return {std::move(found), cost};
  }

  Model::Placement cut_afresh() {
    const float shares[] = {0, 0.95F, 0.5F, 0};
    const std::size_t n = cuts_++;
    const bool again = !model_.uniform_network() && n % 4 == 3;
    return recursive_bisection(model_, domains_, random_, shares[n % 4], again ? &best_.placement : nullptr);
  }

  void improve(Candidate c, double until) {
    constexpr double seconds_a_node = 2.5e-5;
    anneal_nodes(model_, near_, c.placement, std::min(model_.nodes() * seconds_a_node, 0.1 * budget_.seconds), random_);
    descend(c.placement, until);
    c = {swaps_.placement(), model_.total(swaps_.placement())};
    keep(c.placement, c.cost);
    candidates_.push_back(std::move(c));
    // For the predicted time, several of the best are improved.
    constexpr std::size_t most = 6;
    if (candidates_.size() <= most) return;
    candidates_.erase(std::max_element(candidates_.begin(), candidates_.end(),
                                       [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; }));
  }

  struct Round {
    float hot;
    double share;  ///< of the remaining time
  };

  void anneal() {
    if (shares_.usable()) anneal_shares();
    swaps_.set(best_.placement);
    const float step = swaps_.typical_step();
    if (step <= 0) return;
    const Round with_few[] = {{0.1F, 0.25}, {0.03F, 0.33}, {0.3F, 0.5}, {0.1F, 1}};
    const Round with_many[] = {{0.1F, 0.33}, {0.03F, 0.5}, {0.3F, 1}, {0.1F, 1}};
    const double end = at_part(1);
    for (const Round& round : few() ? with_few : with_many) {
      const double now = thread_seconds();
      if (now >= end) break;
      swaps_.set(best_.placement);
      swaps_.anneal(step * round.hot, step * round.hot * 0.01F, now + (end - now) * round.share);
      swaps_.descend(end);
      keep(swaps_.placement(), model_.total(swaps_.placement()));
    }
  }

  /// Spends most of the remaining time on moves between nodes. The best temperature differs by a factor of three
  /// between kinds of traffic; one of the two is near it, and short trial runs would not show which.
  void anneal_shares() {
    const double begin = thread_seconds();
    const double end = begin + 0.95 * (at_part(1) - begin);
    const float step = shares_.typical_step();
    if (step <= 0) return;
    for (const Round& round : {Round{3.5F, 0.5}, Round{1.3F, 1}}) {
      const double now = thread_seconds();
      if (now >= end) break;
      const float hot = round.hot * step;
      shares_.set(best_.placement);
      shares_.anneal(hot, 0.05F * hot, now + (end - now) * round.share);
      // A run that was too hot cannot be repaired at any price.
      descend(shares_.placement(), std::min(at_part(1), thread_seconds() + 0.25 * (end - now)));
      const double before = best_.cost;
      keep(swaps_.placement(), model_.total(swaps_.placement()));
      // Where annealing finds nothing, other beginnings may; the best of them gets the remaining time.
      if (few() && round.share < 1 && best_.cost >= before)
        explore_afresh(thread_seconds() + 0.7 * (end - thread_seconds()));
    }
  }

  bool with_scotch_;
  double begin_;
  Budget budget_;
  Random random_;
  Model model_;
  Domains domains_;
  NearNodes near_;
  Swaps swaps_;
  Shares shares_;
  Candidate best_;
  std::vector<Candidate> candidates_;
  std::size_t fresh_ = 0;  ///< new beginnings so far
  std::size_t cuts_ = 0;   ///< number of our own cuts among them
};

}  // namespace

Assignment search_portfolio(const Task& task, const Budget& budget, bool with_scotch) {
  const double begin = thread_seconds();
  // The result must not be worse than the block assignment because of single precision and summed directions.
  Assignment simple = block_assignment(task);
  double least = objective_value(task, simple);
  Assignment other = cyclic_assignment(task);
  if (const double value = objective_value(task, other); value < least) {
    least = value;
    simple = std::move(other);
  }
  // The result is also compared with these, and a step of the search notices the end of its time a little late.
  constexpr double on_time = 0.99;
  const double judged = 0.75 * (thread_seconds() - begin);
  const double spent = thread_seconds() - begin;
  Portfolio portfolio(task, {std::max(0.0, on_time * budget.seconds - spent - judged), budget.seed}, with_scotch);
  const Model::Placement found = portfolio.run();
  Assignment best{{found.begin(), found.begin() + task.ranks()}};
  return objective_value(task, best) <= least ? best : simple;
}

}  // namespace antiphon::mapping
