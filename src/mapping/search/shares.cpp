// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/shares.hpp"

#include <utility>

#include "mapping/search/wander.hpp"

namespace antiphon::mapping {

void Shares::set(const Model::Placement& placement) {
  seats_.set(placement);
  costs_.set(placement);
}

void Shares::exchange(int a, int b) {
  const int p = node_of(a);
  const int q = node_of(b);
  if (a < model_.ranks()) costs_.move(a, p, q);
  if (b < model_.ranks()) costs_.move(b, q, p);
  seats_.exchange(a, b);
}

void Shares::anneal(float hot, float cold, double until) {
  Wander wander(model_, costs_, random_, seats_.slot_of);
  wander.run(hot, cold, until);
  seats_.set(wander.settled());
}

/// If an exchange gains, at least one of its two ranks gains alone, so only nodes where this rank costs less matter.
int Shares::best_partner(int rank, float least) const {
  const float* mine = costs_.row(rank);
  const int p = node_of(rank);
  int best = -1;
  for (int q = 0; q < model_.nodes(); ++q) {
    const float own = mine[q] - mine[p];
    if (own >= 0 || q == p) continue;
    for (int slot = model_.first_slot(q); slot < model_.first_slot(q + 1); ++slot) {
      const int other = seats_.item_at[static_cast<std::size_t>(slot)];
      float d = own + costs_.row(other)[p] - costs_.row(other)[q];
      if (d >= least) continue;
      d += costs_.bond(rank, other, p, q);
      if (d >= least) continue;
      least = d;
      best = other;
    }
  }
  return best;
}

void Shares::descend(double until) {
  look_at_all(model_, seats_, random_, until, [&](int rank, float least) -> std::pair<int, int> {
    const int other = best_partner(rank, least);
    if (other < 0) return {-1, -1};
    exchange(rank, other);
    return {rank, other};
  });
}

}  // namespace antiphon::mapping
