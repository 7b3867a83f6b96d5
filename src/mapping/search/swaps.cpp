// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/swaps.hpp"

#include <algorithm>
#include <cmath>

#include "antiphon/index.hpp"

namespace antiphon::mapping {

namespace {

/// Most nodes of neighbours that a rank tries in one go.
constexpr std::size_t most_nodes = 24;

}  // namespace

Swaps::Swaps(const Model& model, const Domains& domains, const NearNodes& near, std::uint64_t seed)
    : model_(model), order_(domains.order()), position_(order_.size()), near_(near), random_(seed) {
  for (std::size_t i = 0; i < order_.size(); ++i) position_[at(order_[i])] = static_cast<int>(i);
}

/// Chooses an item near a neighbour of the rank: on its node, in an adjacent slot, on an adjacent node, or sometimes
/// any.
int Swaps::partner(int rank) {
  const int degree = model_.degree(rank);
  const std::uint64_t dice = random_.next() >> 20;
  if (degree == 0 || (dice & 15) == 0)
    return seats_.item_at[random_.below(static_cast<std::uint32_t>(seats_.item_at.size()))];
  const Model::Edge& e = model_.begin(rank)[random_.below(static_cast<std::uint32_t>(degree))];
  const int slot = seats_.slot_of[at(e.to)];
  if ((dice & 0x30) == 0) {
    const int reach = 1 << (1 + ((dice >> 6) & 3));
    const int p =
        position_[at(slot)] + static_cast<int>(random_.below(static_cast<std::uint32_t>(2 * reach + 1))) - reach;
    return seats_.item_at[at(order_[at(std::clamp(p, 0, static_cast<int>(order_.size()) - 1))])];
  }
  int node = model_.node(slot);
  const auto& near = near_.of(node);
  if ((dice & 0x300) == 0 && !near.empty()) node = near[random_.below(static_cast<std::uint32_t>(near.size()))];
  return seats_.item_at[at(model_.first_slot(node)) + random_.below(static_cast<std::uint32_t>(model_.slots_of(node)))];
}

float Swaps::typical_step() {
  return mean_rise(500, [&] {
    const auto a = static_cast<int>(random_.below(static_cast<std::uint32_t>(model_.ranks())));
    const int b = partner(a);
    return a == b ? 0 : model_.swap_delta(seats_.slot_of.data(), a, b);
  });
}

void Swaps::anneal(float hot, float cold, double until) {
  const auto ranks = static_cast<std::uint32_t>(model_.ranks());
  Lowest lowest(seats_.slot_of);
  Cooling cooling(hot, cold, until);
  for (long n = 0;; ++n) {
    if ((n & 63) == 0 && !cooling.goes_on()) break;
    const auto a = static_cast<int>(random_.below(ranks));
    const int b = partner(a);
    if (a == b || (model_.pinned() && !may(a, b))) continue;
    const float d = model_.swap_delta(seats_.slot_of.data(), a, b);
    const float temperature = cooling.temperature();
    if (d > 0 && (d > 12 * temperature || random_.unit() >= std::exp(-d / temperature))) continue;
    lowest.leave(d, seats_.slot_of);
    seats_.exchange(a, b);
    lowest.reach(d, cooling.part() > 0.5);
  }
  if (const Model::Placement* best = lowest.behind()) set(*best);
}

/// Lists the nodes where the rank has neighbours.
void Swaps::neighbours(int rank, std::vector<int>& nodes) const {
  nodes.clear();
  for (const Model::Edge* e = model_.begin(rank); e != model_.end(rank) && nodes.size() < most_nodes; ++e) {
    const int node = model_.node(seats_.slot_of[at(e->to)]);
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }
}

std::pair<int, int> Swaps::improve(int rank, float least, const std::vector<int>& nodes) {
  int best = -1;
  for (const int node : nodes) {
    for (int slot = model_.first_slot(node); slot < model_.first_slot(node + 1); ++slot) {
      const int other = seats_.item_at[at(slot)];
      if (other == rank || (model_.pinned() && !may(rank, other))) continue;
      const float d = model_.swap_delta(seats_.slot_of.data(), rank, other);
      if (d >= least) continue;
      least = d;
      best = other;
    }
  }
  if (best < 0) return {-1, -1};
  seats_.exchange(rank, best);
  return {rank, best};
}

void Swaps::descend(double until, bool own_node_alone) {
  std::vector<int> nodes;
  look_at_all(model_, seats_, random_, until, [&](int rank, float least) {
    if (own_node_alone) {
      nodes = {model_.node(seats_.slot_of[at(rank)])};
    } else {
      neighbours(rank, nodes);
    }
    return improve(rank, least, nodes);
  });
}

}  // namespace antiphon::mapping
