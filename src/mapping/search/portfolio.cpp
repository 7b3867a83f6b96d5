// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/portfolio.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "mapping/fill.hpp"
#include "mapping/search/digits.hpp"
#include "mapping/search/recursive.hpp"
#include "mapping/search/swaps.hpp"

namespace antiphon::mapping {

namespace {

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
    regular();
    bisections();
    order_nodes();
    descend();
    anneal();
    return best_.placement;
  }

 private:
  [[nodiscard]] double at_part(double part) const { return begin_ + part * budget_.seconds; }

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

  void regular() {
    const Digits digits(model_, domains_);
    const double until = at_part(0.2);
    for (const auto& start : digits.starts()) {
      if (thread_seconds() < until) begin_with(digits.climb(start, until), "digits");
    }
  }

  void bisections() {
    const double until = at_part(0.35);
    for (int n = 0; n < 6; ++n) {
      const double before = thread_seconds();
      begin_with(recursive_bisection(model_, domains_, random_), "bisect");
      const double took = thread_seconds() - before;
      if (before + 2 * took > until) break;
    }
  }

  void order_nodes() {
    if (model_.uniform_network()) return;
    const double each = std::max(0.0, at_part(0.5) - thread_seconds()) / static_cast<double>(candidates_.size());
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
