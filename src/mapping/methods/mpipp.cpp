// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "antiphon/index.hpp"
#include "antiphon/random.hpp"
#include "mapping/search/model.hpp"
#include "mapping/search/thread_time.hpp"

namespace antiphon::mapping::method_mpipp {

namespace {

/// The heuristic k-way graph partitioning of MPIPP (Chen et al., ICS 2006), which paper 2, Section 3 uses. From a
/// random placement, it makes the exchange of two ranks that gains most, even if that is a loss, and locks both, until
/// all are locked. It keeps the leading exchanges that gained most together, and repeats until nothing is gained. Ten
/// random beginnings give the best result. With only point-to-point traffic this is MPIPP, with decomposed collectives
/// OPP. Recomputing only the gains that an exchange changes gives the same result in less time.
class PairwiseExchange {
 public:
  PairwiseExchange(const Model& model, Random& random) : model_(model), random_(random), items_(model.slots()) {}

  Model::Placement run(double until) {
    random_placement();
    while (pass(until)) {
    }
    return slot_of_;
  }

 private:
  void random_placement() { slot_of_ = model_.placement(random_assignment()); }

  /// Puts pinned ranks into their slots and the others anywhere.
  Assignment random_assignment() {
    std::vector<int> free(at(items_));
    std::iota(free.begin(), free.end(), 0);
    random_.shuffle(free.begin(), free.end());
    Assignment a{std::vector<int>(at(model_.ranks()), -1)};
    // Ranks bound to a core come first, then those bound to a node.
    for (int strict = 2; strict >= 0; --strict) {
      for (int r = 0; r < model_.ranks(); ++r) {
        const Pin* pin = model_.task().pin_of(r);
        if ((pin == nullptr ? 0 : pin->core < 0 ? 1 : 2) != strict) continue;
        const auto slot = std::find_if(free.rbegin(), free.rend(), [&](int s) { return model_.allowed(r, s); });
        a.slot_of_rank[at(r)] = *slot;
        free.erase(std::next(slot).base());
      }
    }
    return a;
  }

  [[nodiscard]] bool may(int a, int b) const {
    return model_.allowed(a, slot_of_[at(b)]) && model_.allowed(b, slot_of_[at(a)]);
  }

  /// Finds the best exchange of an item with an unlocked item after it.
  void refresh(int a) {
    best_[at(a)] = -1;
    gain_[at(a)] = 0;
    if (locked_[at(a)] != 0) return;
    for (int b = a + 1; b < items_; ++b) {
      if (locked_[at(b)] != 0 || (a >= model_.ranks() && b >= model_.ranks())) continue;
      if (model_.pinned() && !may(a, b)) continue;
      const float gain = -model_.swap_delta(slot_of_.data(), a, b);
      if (best_[at(a)] >= 0 && gain <= gain_[at(a)]) continue;
      best_[at(a)] = b;
      gain_[at(a)] = gain;
    }
  }

  void touch(int item) {
    touched_[at(item)] = 1;
    if (item >= model_.ranks()) return;
    for (const Model::Edge* e = model_.begin(item); e != model_.end(item); ++e) touched_[at(e->to)] = 1;
  }

  /// Updates the gains after an exchange: the two items and their neighbours have new gains with all others.
  void update(int a, int b) {
    std::fill(touched_.begin(), touched_.end(), 0);
    touch(a);
    touch(b);
    for (int i = 0; i < items_; ++i) {
      if (locked_[at(i)] != 0) {
        best_[at(i)] = -1;
        continue;
      }
      if (touched_[at(i)] != 0 || best_[at(i)] < 0 || locked_[at(best_[at(i)])] != 0 ||
          touched_[at(best_[at(i)])] != 0) {
        refresh(i);
        continue;
      }
      for (int t = i + 1; t < items_; ++t) {
        if (touched_[at(t)] == 0 || locked_[at(t)] != 0 || (model_.pinned() && !may(i, t))) continue;
        const float gain = -model_.swap_delta(slot_of_.data(), i, t);
        if (gain <= gain_[at(i)]) continue;
        gain_[at(i)] = gain;
        best_[at(i)] = t;
      }
    }
  }

  bool pass(double until) {
    locked_.assign(at(items_), 0);
    touched_.assign(at(items_), 0);
    best_.assign(at(items_), -1);
    gain_.assign(at(items_), 0);
    for (int a = 0; a < items_; ++a) refresh(a);
    const Model::Placement before = slot_of_;
    std::vector<std::pair<int, int>> made;
    double sum = 0;
    double most = 1e-6 * model_.total(slot_of_);
    std::size_t keep = 0;
    while (thread_seconds() < until) {
      int a = -1;
      for (int i = 0; i < items_; ++i) {
        if (best_[at(i)] >= 0 && (a < 0 || gain_[at(i)] > gain_[at(a)])) a = i;
      }
      if (a < 0) break;
      const int b = best_[at(a)];
      sum += static_cast<double>(gain_[at(a)]);
      std::swap(slot_of_[at(a)], slot_of_[at(b)]);
      locked_[at(a)] = locked_[at(b)] = 1;
      made.push_back({a, b});
      if (sum > most) {
        most = sum;
        keep = made.size();
      }
      update(a, b);
    }
    slot_of_ = before;
    for (std::size_t i = 0; i < keep; ++i) std::swap(slot_of_[at(made[i].first)], slot_of_[at(made[i].second)]);
    return keep > 0 && thread_seconds() < until;
  }

  const Model& model_;
  Random& random_;
  int items_;
  Model::Placement slot_of_;
  std::vector<char> locked_;
  std::vector<char> touched_;
  std::vector<int> best_;  ///< a later item to exchange with; −1: none
  std::vector<float> gain_;
};

Assignment place(const Task& task, const Budget& budget) {
  constexpr int beginnings = 10;
  const Model model(task);
  Random random(budget.seed);
  // The method does not watch the time in between, so this bound only stops what would take hours.
  const double until = thread_seconds() + std::max(60.0, budget.seconds);
  Model::Placement best;
  double least = 0;
  const double begin = thread_seconds();
  for (int n = 0; n < beginnings; ++n) {
    Model::Placement found = PairwiseExchange(model, random).run(until);
    const double cost = model.total(found);
    if (best.empty() || cost < least) {
      least = cost;
      best = std::move(found);
    }
    // If one beginning takes longer than the whole budget, there is only one.
    if (thread_seconds() - begin > budget.seconds && thread_seconds() - begin > 1) break;
  }
  return model.assignment(best);
}

}  // namespace

extern const Method method{
    "mpipp", "k-way pairwise exchange from random placements (MPIPP; with collectives in the traffic: OPP, paper 2)",
    nullptr, place};

}  // namespace antiphon::mapping::method_mpipp
