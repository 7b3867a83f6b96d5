// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/wander.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "antiphon/index.hpp"
#include "mapping/search/rows.hpp"
#include "mapping/search/walk.hpp"

namespace antiphon::mapping {

namespace {

constexpr float unknown = -1e30F;
constexpr float never = 1e30F;
/// Lower limit of draws from an exponential distribution.
constexpr float least_chance = 1e-7F;
constexpr float most_temperatures = 16.2F;

/// The price of a node grows with the square of its excess ranks.
float price_of_entering(int over) { return static_cast<float>(std::max(0, 2 * over + 1)); }

}  // namespace

Wander::Wander(const Model& model, ShareCosts& costs, Random& random, const Model::Placement& begin)
    : model_(model), costs_(costs), random_(random), enter_(at(model.nodes())), leave_(at(model.nodes())),
      gap_(at(model.ranks()), unknown) {
  for (int n = 0; n < model.nodes(); ++n) over_.push_back(-model.slots_of(n));
  for (int r = 0; r < model.ranks(); ++r) {
    node_of_.push_back(model.node(begin[at(r)]));
    ++over_[at(node_of_.back())];
    alone_.push_back(costs.dearest(r) * (1 - 1e-4F));
  }
  for (int n = 0; n < model.nodes(); ++n) charge(n, 0);
}

void Wander::charge(int node, int more) {
  const int over = over_[at(node)] += more;
  enter_[at(node)] = model_.slots_of(node) > 0 ? price_of_entering(over) : never;
  leave_[at(node)] = price_of_entering(over - 1);
}

void Wander::move(int rank, int to) {
  costs_.move(rank, node_of_[at(rank)], to);
  charge(node_of_[at(rank)], -1);
  charge(to, 1);
  node_of_[at(rank)] = to;
  gap_[at(rank)] = unknown;
  for (const Model::Edge* e = model_.begin(rank); e != model_.end(rank); ++e) gap_[at(e->to)] = unknown;
}

float Wander::gap(int rank) {
  float& gap = gap_[at(rank)];
  if (gap != unknown) return gap;
  const float* row = costs_.row(rank);
  const int here = node_of_[at(rank)];
  const int behind = here + 1;
  gap = std::min(least_of(row, at(here)), least_of(row + behind, at(model_.nodes() - behind))) - row[here];
  return gap;
}

/// Returns another node where the rank costs less than `limit` including the price of room, all with equal chances;
/// −1: none. Only nodes near a neighbour count: there are so many others that a rank would hardly ever go elsewhere.
int Wander::any_below(int rank, float limit) {
  const float* row = costs_.row(rank);
  const float most = alone_[at(rank)];
  const std::size_t nodes = over_.size();
  float& own = enter_[at(node_of_[at(rank)])];
  const float kept = std::exchange(own, never);
  int found = -1;
  if (const int count = count_below(row, nodes, place_, enter_.data(), limit, most); count > 0) {
    auto left = static_cast<int>(random_.below(static_cast<std::uint32_t>(count)));
    constexpr std::size_t block = 32;
    std::size_t n = 0;
    for (; n + block < nodes; n += block) {
      const int here = count_below(row + n, block, place_, enter_.data() + n, limit, most);
      if (left < here) break;
      left -= here;
    }
    for (; found < 0 && n < nodes; ++n) {
      if (row[n] + place_ * enter_[n] < limit && row[n] < most && left-- == 0) found = static_cast<int>(n);
    }
  }
  own = kept;
  return found;
}

void Wander::run(float hot, float cold, double until) {
  Cooling cooling(hot, cold, until);
  // Number of table entries between two looks at the clock.
  constexpr std::size_t most_work = 1 << 17;
  const std::size_t nodes = over_.size();
  std::size_t work = most_work;
  for (int rank = 0;; rank = rank + 1 < model_.ranks() ? rank + 1 : 0) {
    if (work >= most_work) {
      if (!cooling.goes_on()) break;
      // The price is high enough that few ranks need repair at the end, even at a low temperature.
      place_ = hot * (1 - 0.5F * static_cast<float>(cooling.part()));
      work = 0;
    }
    work += 8;
    const int from = node_of_[at(rank)];
    const float saved = place_ * leave_[at(from)];
    if (gap_[at(rank)] > saved + most_temperatures * cooling.temperature()) continue;
    work += nodes;
    const float rise = saved - cooling.temperature() * std::log(random_.unit() + least_chance);
    if (gap(rank) >= rise) continue;
    const int to = any_below(rank, costs_.row(rank)[from] + rise);
    if (to < 0) continue;
    move(rank, to);
    work += 2 * nodes * at(model_.degree(rank));
  }
}

void Wander::move_out(int node) {
  std::pair<int, int> best{-1, -1};
  float least = 0;
  for (int rank = 0; rank < model_.ranks(); ++rank) {
    if (node_of_[at(rank)] != node) continue;
    for (int to = 0; to < model_.nodes(); ++to) {
      const float d = costs_.row(rank)[to] - costs_.row(rank)[node];
      if (over_[at(to)] >= 0 || (best.first >= 0 && d >= least)) continue;
      least = d;
      best = {rank, to};
    }
  }
  move(best.first, best.second);
}

Model::Placement Wander::settled() {
  for (int node = 0; node < model_.nodes(); ++node) {
    while (over_[at(node)] > 0) move_out(node);
  }
  std::vector<int> next;
  for (int node = 0; node < model_.nodes(); ++node) next.push_back(model_.first_slot(node));
  Assignment found;
  for (const int node : node_of_) found.slot_of_rank.push_back(next[at(node)]++);
  return model_.placement(found);
}

}  // namespace antiphon::mapping
