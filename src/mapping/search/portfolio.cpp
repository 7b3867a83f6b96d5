// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/portfolio.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "mapping/fill.hpp"
#include "mapping/search/digits.hpp"
#include "mapping/search/link_search.hpp"
#include "mapping/search/recursive.hpp"
#include "mapping/search/swaps.hpp"

namespace antiphon::mapping {

namespace {

/// What costs so many times the best is not made better any more.
constexpr double hopeless = 1.5;

struct Candidate {
  Model::Placement placement;
  double cost = 0;
};

class Portfolio {
 public:
  Portfolio(const Task& task, const Budget& budget)
      : begin_(thread_seconds()), budget_(budget), random_(budget.seed), model_(task), domains_(model_), near_(model_), swaps_(model_, domains_, near_, budget.seed) {}

  Model::Placement run() {
    begin_with(model_.placement(block_assignment(model_.task())), "block");
    block_ = candidates_[0].cost;
    begin_with(model_.placement(cyclic_assignment(model_.task())), "cyclic");
    // A first cut tells whether regular orders are worth their time.
    begin_with(recursive_bisection(model_, domains_, random_, 0), "bisect");
    regular();
    bisections();
    order_nodes();
    descend();
    anneal();
    return model_.task().objective() == Objective::time ? quickest() : best_.placement;
  }

 private:
  /// The search for the sum of all messages leaves half of the budget to that for the predicted time.
  [[nodiscard]] double at_part(double part) const {
    return begin_ + part * budget_.seconds * (model_.task().objective() == Objective::time ? 0.5 : 1);
  }

  void note(const char* what, double cost) const {
    if (std::getenv("MAPDBG") != nullptr) std::fprintf(stderr, "%-8s %.4f t=%.4f\n", what, cost / block_, thread_seconds() - begin_);
  }

  void begin_with(Model::Placement placement, const char* what) {
    const double cost = model_.total(placement);
    if (block_ == 0) block_ = cost;
    note(what, cost);
    if (best_.placement.empty() || cost < best_.cost) best_ = {placement, cost};
    candidates_.push_back({std::move(placement), cost});
  }

  void keep(const Model::Placement& placement, double cost) {
    if (cost < best_.cost) best_ = {placement, cost};
  }

  [[nodiscard]] double predicted(const Model::Placement& placement) const { return objective_value(model_.task(), model_.assignment(placement)); }

  /// Of all that were found, the one with the least predicted time, made better by what links and ranks take.
  Model::Placement quickest() {
    candidates_.push_back(best_);
    candidates_.push_back({model_.placement(block_assignment(model_.task())), 0});
    candidates_.push_back({model_.placement(cyclic_assignment(model_.task())), 0});
    for (Candidate& c : candidates_) c.cost = predicted(c.placement);
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
    Candidate least = candidates_[0];
    constexpr int beginnings = 3;
    const double begin = thread_seconds();
    const double end = std::max(begin_ + budget_.seconds, begin);
    for (int n = 0; n < beginnings; ++n) {
      Candidate found{search_links(model_, domains_, candidates_[static_cast<std::size_t>(n)].placement, random_, begin + (end - begin) * (n + 1) / beginnings), 0};
      found.cost = predicted(found.placement);
      if (found.cost < least.cost) least = std::move(found);
    }
    return least.placement;
  }

  void regular() {
    const Digits digits(model_, domains_);
    const double until = at_part(0.2);
    const double cut = candidates_.back().cost;
    for (const auto& start : digits.starts()) {
      if (thread_seconds() < until) begin_with(digits.climb(start, until), "digits");
      if (candidates_.back().cost > hopeless * cut) return;
    }
    // Further beginnings only for what beats the ones so far.
    while (thread_seconds() < until && digits.dimensions() > 1) {
      Model::Placement found = digits.climb(digits.mixed(random_), until);
      if (model_.total(found) < candidates_.back().cost) {
        candidates_.pop_back();
        begin_with(std::move(found), "mixed");
      }
    }
  }

  void bisections() {
    const double until = at_part(0.4);
    // In a tree nothing outside pulls, and these make little difference.
    const float shares[] = {0.95F, 0, 0.5F, 0};
    Candidate last;
    for (int n = 0; n < 9; ++n) {
      const double before = thread_seconds();
      const bool again = !model_.uniform_network() && n >= 4 && !last.placement.empty();
      Model::Placement found = recursive_bisection(model_, domains_, random_, shares[n % 4], again ? &last.placement : nullptr);
      const double cost = model_.total(found);
      if (last.placement.empty() || cost < last.cost) last = {found, cost};
      begin_with(std::move(found), again ? "again" : "bisect");
      const double took = thread_seconds() - before;
      if (before + 2 * took > until) break;
    }
  }

  void order_nodes() {
    if (model_.uniform_network()) return;
    constexpr std::size_t most = 5;
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
    if (candidates_.size() > most) candidates_.resize(most);
    const double enough = hopeless * candidates_[0].cost;
    std::erase_if(candidates_, [&](const Candidate& c) { return c.cost > enough; });
    const double each = std::max(0.0, at_part(0.55) - thread_seconds()) / static_cast<double>(candidates_.size());
    for (Candidate& c : candidates_) {
      anneal_nodes(model_, near_, c.placement, each, random_);
      c.cost = model_.total(c.placement);
      note("nodes", c.cost);
      keep(c.placement, c.cost);
    }
  }

  void descend() {
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
    const double until = at_part(0.65);
    for (Candidate& c : candidates_) {
      if (thread_seconds() > until) break;
      swaps_.set(c.placement);
      swaps_.descend(until);
      c = {swaps_.placement(), model_.total(swaps_.placement())};
      note("descend", c.cost);
      keep(c.placement, c.cost);
    }
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  }

  void anneal() {
    swaps_.set(best_.placement);
    const float step = swaps_.typical_step();
    if (step <= 0) return;
    const double begin = thread_seconds();
    const double end = at_part(1);
    const float hots[] = {0.1F, 0.03F, 0.3F, 0.1F, 0.05F};
    const int rounds = model_.ranks() <= 1024 ? 4 : 3;
    for (int k = 0; k < rounds && thread_seconds() < end; ++k) {
      swaps_.set(best_.placement);
      const double until = begin + (end - begin) * (k + 1) / rounds;
      swaps_.anneal(step * hots[k], step * hots[k] * 0.01F, until);
      swaps_.descend(end);
      const double cost = model_.total(swaps_.placement());
      note("anneal", cost);
      keep(swaps_.placement(), cost);
    }
  }

  double begin_;
  Budget budget_;
  Random random_;
  Model model_;
  Domains domains_;
  NearNodes near_;
  Swaps swaps_;
  double block_ = 0;
  Candidate best_;
  std::vector<Candidate> candidates_;
};

}  // namespace

Assignment search_portfolio(const Task& task, const Budget& budget) {
  Portfolio portfolio(task, budget);
  const Model::Placement found = portfolio.run();
  return {{found.begin(), found.begin() + task.ranks()}};
}

}  // namespace antiphon::mapping
