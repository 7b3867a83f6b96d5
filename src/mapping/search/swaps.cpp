// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/swaps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace antiphon::mapping {

namespace {

/// A rank tries at most so many of its neighbours' nodes in one go.
constexpr std::size_t most_nodes = 24;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

Swaps::Swaps(const Model& model, const Domains& domains, const NearNodes& near, std::uint64_t seed)
    : model_(model), order_(domains.order()), position_(order_.size()), near_(near), random_(seed) {
  for (std::size_t i = 0; i < order_.size(); ++i) position_[at(order_[i])] = static_cast<int>(i);
}

void Swaps::set(const Model::Placement& placement) {
  slot_of_ = placement;
  item_at_.resize(placement.size());
  for (std::size_t i = 0; i < placement.size(); ++i) item_at_[at(placement[i])] = static_cast<int>(i);
}

/// An item near one of the rank's neighbours: of its node, of slots beside it, of a node beside it; sometimes any.
int Swaps::partner(int rank) {
  const int degree = model_.degree(rank);
  const std::uint64_t dice = random_.next() >> 20;
  if (degree == 0 || (dice & 15) == 0) return item_at_[random_.below(static_cast<std::uint32_t>(item_at_.size()))];
  const Model::Edge& e = model_.begin(rank)[random_.below(static_cast<std::uint32_t>(degree))];
  const int slot = slot_of_[at(e.to)];
  if ((dice & 0x30) == 0) {
    const int reach = 1 << (1 + ((dice >> 6) & 3));
    const int p = position_[at(slot)] + static_cast<int>(random_.below(static_cast<std::uint32_t>(2 * reach + 1))) - reach;
    return item_at_[at(order_[at(std::clamp(p, 0, static_cast<int>(order_.size()) - 1))])];
  }
  int node = model_.node(slot);
  const auto& near = near_.of(node);
  if ((dice & 0x300) == 0 && !near.empty()) node = near[random_.below(static_cast<std::uint32_t>(near.size()))];
  return item_at_[at(model_.first_slot(node)) + random_.below(static_cast<std::uint32_t>(model_.slots_of(node)))];
}

float Swaps::typical_step() {
  float sum = 0;
  int worse = 0;
  for (int t = 0; t < 500; ++t) {
    const auto a = static_cast<int>(random_.below(static_cast<std::uint32_t>(model_.ranks())));
    const int b = partner(a);
    const float d = a == b ? 0 : model_.swap_delta(slot_of_.data(), a, b);
    if (d <= 0) continue;
    sum += d;
    ++worse;
  }
  return worse > 0 ? sum / static_cast<float>(worse) : 0;
}

void Swaps::anneal(float hot, float cold, double until) {
  Model::Placement best = slot_of_;
  double cost = 0;
  double least = 0;
  const double begin = thread_seconds();
  const auto ranks = static_cast<std::uint32_t>(model_.ranks());
  float temperature = hot;
  bool cool = false;
  bool better = false;
  for (long n = 0;; ++n) {
    if ((n & 63) == 0) {
      const double now = thread_seconds();
      if (now >= until) break;
      const double part = (now - begin) / (until - begin);
      temperature = hot * std::pow(cold / hot, static_cast<float>(part));
      cool = part > 0.5;
    }
    const auto a = static_cast<int>(random_.below(ranks));
    const int b = partner(a);
    if (a == b || (model_.pinned() && !may(a, b))) continue;
    const float d = model_.swap_delta(slot_of_.data(), a, b);
    if (d > 0 && (d > 12 * temperature || random_.unit() >= std::exp(-d / temperature))) continue;
    // Where it goes up again from the lowest point so far, that point is kept.
    if (d > 0 && better) {
      best = slot_of_;
      better = false;
    }
    exchange(a, b);
    cost += static_cast<double>(d);
    if (cool && cost < least) {
      least = cost;
      better = true;
    }
  }
  if (!better) set(best);
}

/// Nodes where the rank has neighbours.
void Swaps::neighbours(int rank, std::vector<int>& nodes) const {
  nodes.clear();
  for (const Model::Edge* e = model_.begin(rank); e != model_.end(rank) && nodes.size() < most_nodes; ++e) {
    const int node = model_.node(slot_of_[at(e->to)]);
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }
}

bool Swaps::improve(int rank, float least, const std::vector<int>& nodes, std::vector<std::pair<int, int>>& changed) {
  int best = -1;
  for (const int node : nodes) {
    for (int slot = model_.first_slot(node); slot < model_.first_slot(node + 1); ++slot) {
      const int other = item_at_[at(slot)];
      if (other == rank || (model_.pinned() && !may(rank, other))) continue;
      const float d = model_.swap_delta(slot_of_.data(), rank, other);
      if (d >= least) continue;
      least = d;
      best = other;
    }
  }
  if (best < 0) return false;
  exchange(rank, best);
  changed.push_back({rank, best});
  return true;
}

void Swaps::descend(double until, bool own_node_alone) {
  std::vector<int> queue(at(model_.ranks()));
  std::iota(queue.begin(), queue.end(), 0);
  random_.shuffle(queue.begin(), queue.end());
  std::vector<char> waiting(at(model_.ranks()), 1);
  std::vector<int> nodes;
  std::vector<std::pair<int, int>> changed;
  const auto least = static_cast<float>(-1e-7 * model_.total(slot_of_) / model_.ranks());
  const auto wake = [&](int item) {
    if (item >= model_.ranks() || waiting[at(item)] != 0) return;
    waiting[at(item)] = 1;
    queue.push_back(item);
  };
  for (std::size_t head = 0; head < queue.size(); ++head) {
    if ((head & 15) == 0 && thread_seconds() > until) return;
    const int rank = queue[head];
    waiting[at(rank)] = 0;
    if (own_node_alone) {
      nodes = {model_.node(slot_of_[at(rank)])};
    } else {
      neighbours(rank, nodes);
    }
    if (!improve(rank, least, nodes, changed)) continue;
    for (const int item : {changed.back().first, changed.back().second}) {
      wake(item);
      if (item >= model_.ranks()) continue;
      for (const Model::Edge* e = model_.begin(item); e != model_.end(item); ++e) wake(e->to);
    }
  }
}

}  // namespace antiphon::mapping
