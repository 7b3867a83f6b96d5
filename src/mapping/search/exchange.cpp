// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/exchange.hpp"

#include <algorithm>
#include <numeric>

namespace antiphon::mapping {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

Model::Placement PairwiseExchange::run(Model::Placement begin, double until) {
  slot_of_ = std::move(begin);
  while (pass(until)) {
  }
  return slot_of_;
}

bool PairwiseExchange::may(int a, int b) const { return model_.allowed(a, slot_of_[at(b)]) && model_.allowed(b, slot_of_[at(a)]); }

/// The best exchange of an item with an unlocked one behind it.
void PairwiseExchange::refresh(int a) {
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

void PairwiseExchange::touch(int item) {
  touched_[at(item)] = 1;
  if (item >= model_.ranks()) return;
  for (const Model::Edge* e = model_.begin(item); e != model_.end(item); ++e) touched_[at(e->to)] = 1;
}

/// After an exchange: items that were touched have new gains with all others.
void PairwiseExchange::update(int a, int b) {
  std::fill(touched_.begin(), touched_.end(), 0);
  touch(a);
  touch(b);
  for (int i = 0; i < items_; ++i) {
    if (locked_[at(i)] != 0) {
      best_[at(i)] = -1;
      continue;
    }
    if (touched_[at(i)] != 0 || best_[at(i)] < 0 || locked_[at(best_[at(i)])] != 0 || touched_[at(best_[at(i)])] != 0) {
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

/// Exchanges until all are locked; how many of them are worth keeping.
std::size_t PairwiseExchange::exchange_all(double until) {
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
    made_.push_back({a, b});
    if (sum > most) {
      most = sum;
      keep = made_.size();
    }
    update(a, b);
  }
  return keep;
}

bool PairwiseExchange::pass(double until) {
  locked_.assign(at(items_), 0);
  touched_.assign(at(items_), 0);
  best_.assign(at(items_), -1);
  gain_.assign(at(items_), 0);
  made_.clear();
  for (int a = 0; a < items_; ++a) refresh(a);
  const Model::Placement before = slot_of_;
  const std::size_t keep = exchange_all(until);
  slot_of_ = before;
  for (std::size_t i = 0; i < keep; ++i) std::swap(slot_of_[at(made_[i].first)], slot_of_[at(made_[i].second)]);
  return keep > 0 && thread_seconds() < until;
}

Model::Placement random_placement(const Model& model, Random& random) {
  std::vector<int> free(at(model.slots()));
  std::iota(free.begin(), free.end(), 0);
  random.shuffle(free.begin(), free.end());
  Assignment a{std::vector<int>(at(model.ranks()), -1)};
  // Ranks bound to a core first, then those bound to a node.
  for (int strict = 2; strict >= 0; --strict) {
    for (int r = 0; r < model.ranks(); ++r) {
      const Pin* pin = model.task().pin_of(r);
      if ((pin == nullptr ? 0 : pin->core < 0 ? 1 : 2) != strict) continue;
      const auto slot = std::find_if(free.rbegin(), free.rend(), [&](int s) { return model.allowed(r, s); });
      a.slot_of_rank[at(r)] = *slot;
      free.erase(std::next(slot).base());
    }
  }
  return model.placement(a);
}

}  // namespace antiphon::mapping
