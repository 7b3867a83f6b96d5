// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/shares.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace antiphon::mapping {

namespace {

/// Of the table of ranks and nodes.
constexpr std::size_t most_entries = std::size_t{1} << 24;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

Shares::Shares(const Model& model, const NearNodes& near, std::uint64_t seed)
    : model_(model), near_(near), random_(seed), nodes_(at(model.nodes())) {
  usable_ = nodes_ > 1 && !model.pinned() && nodes_ * at(model.slots()) <= most_entries;
  if (!usable_) return;
  per_message_.resize(nodes_ * nodes_);
  per_byte_.resize(nodes_ * nodes_);
  for (int a = 0; a < model.nodes(); ++a) {
    for (int b = 0; b < model.nodes(); ++b) {
      if (model.slots_of(a) == 0 || model.slots_of(b) == 0) continue;
      const Model::Pair p = a == b ? mean_inside(a) : model.between(model.first_slot(a), model.first_slot(b));
      per_message_[at(a) * nodes_ + at(b)] = p.per_message;
      per_byte_[at(a) * nodes_ + at(b)] = p.per_byte;
    }
  }
}

/// The mean over a node's pairs of slots.
Model::Pair Shares::mean_inside(int node) {
  double messages = 0;
  double bytes = 0;
  const int size = model_.slots_of(node);
  for (int a = 0; a < size; ++a) {
    for (int b = 0; b < size; ++b) {
      if (a == b) continue;
      const Model::Pair p = model_.between(model_.first_slot(node) + a, model_.first_slot(node) + b);
      messages += static_cast<double>(p.per_message);
      bytes += static_cast<double>(p.per_byte);
      const Model::Pair first = model_.between(model_.first_slot(node), model_.first_slot(node) + 1);
      order_matters_ |= p.per_message != first.per_message || p.per_byte != first.per_byte;
    }
  }
  const double pairs = std::max(1, size * (size - 1));
  return {static_cast<float>(messages / pairs), static_cast<float>(bytes / pairs)};
}

void Shares::set(const Model::Placement& placement) {
  seats_.set(placement);
  costs_.assign(placement.size() * nodes_, 0);
  for (int r = 0; r < model_.ranks(); ++r) {
    float* row = costs_.data() + at(r) * nodes_;
    for (const Model::Edge* e = model_.begin(r); e != model_.end(r); ++e) {
      const float* messages = per_message_.data() + at(node_of(e->to)) * nodes_;
      const float* bytes = per_byte_.data() + at(node_of(e->to)) * nodes_;
      for (std::size_t x = 0; x < nodes_; ++x) row[x] += e->messages * messages[x] + e->bytes * bytes[x];
    }
  }
}

/// What the two would cost more together than `costs` says, because each of them takes the other to stay.
float Shares::bond(int a, int b, int p, int q) const {
  const auto before = [](const Model::Edge& x, int rank) { return x.to < rank; };
  const Model::Edge* e = std::lower_bound(model_.begin(a), model_.end(a), b, before);
  if (e == model_.end(a) || e->to != b) return 0;
  const auto more = [&](const std::vector<float>& table) {
    return 2 * table[at(p) * nodes_ + at(q)] - table[at(p) * nodes_ + at(p)] - table[at(q) * nodes_ + at(q)];
  };
  return e->messages * more(per_message_) + e->bytes * more(per_byte_);
}

/// Without the bond.
float Shares::delta(int a, int b) const {
  const auto p = at(node_of(a));
  const auto q = at(node_of(b));
  const float* of_a = costs(a);
  const float* of_b = costs(b);
  return of_a[q] - of_a[p] + of_b[p] - of_b[q];
}

void Shares::move(int rank, int from, int to) {
  const float* messages_from = per_message_.data() + at(from) * nodes_;
  const float* messages_to = per_message_.data() + at(to) * nodes_;
  const float* bytes_from = per_byte_.data() + at(from) * nodes_;
  const float* bytes_to = per_byte_.data() + at(to) * nodes_;
  for (const Model::Edge* e = model_.begin(rank); e != model_.end(rank); ++e) {
    float* row = costs_.data() + at(e->to) * nodes_;
    for (std::size_t x = 0; x < nodes_; ++x) {
      row[x] += e->messages * (messages_to[x] - messages_from[x]) + e->bytes * (bytes_to[x] - bytes_from[x]);
    }
  }
}

void Shares::exchange(int a, int b) {
  const int p = node_of(a);
  const int q = node_of(b);
  if (a < model_.ranks()) move(a, p, q);
  if (b < model_.ranks()) move(b, q, p);
  seats_.exchange(a, b);
}

/// An item of a neighbour's node, or of one beside it; sometimes any.
int Shares::partner(int rank) {
  const int degree = model_.degree(rank);
  const std::uint64_t dice = random_.next() >> 20;
  if (degree == 0 || (dice & 15) == 0) return seats_.item_at[random_.below(static_cast<std::uint32_t>(seats_.item_at.size()))];
  int node = node_of(model_.begin(rank)[random_.below(static_cast<std::uint32_t>(degree))].to);
  const auto& near = near_.of(node);
  if ((dice & 0x30) == 0 && !near.empty()) node = near[random_.below(static_cast<std::uint32_t>(near.size()))];
  return seats_.item_at[at(model_.first_slot(node)) + random_.below(static_cast<std::uint32_t>(model_.slots_of(node)))];
}

float Shares::typical_step() {
  return mean_rise(1000, [&] {
    const auto a = static_cast<int>(random_.below(static_cast<std::uint32_t>(model_.ranks())));
    const int b = partner(a);
    return node_of(a) == node_of(b) ? 0 : delta(a, b);
  });
}

void Shares::anneal(float hot, float cold, double until) {
  const auto ranks = static_cast<std::uint32_t>(model_.ranks());
  Lowest lowest(seats_.slot_of);
  Cooling cooling(hot, cold, until);
  for (long n = 0;; ++n) {
    if ((n & 255) == 0 && !cooling.goes_on()) break;
    const auto a = static_cast<int>(random_.below(ranks));
    const int b = partner(a);
    if (node_of(a) == node_of(b)) continue;
    float d = delta(a, b);
    const float bound = d > 0 ? -cooling.temperature() * std::log(random_.unit() + 1e-7F) : 0;
    if (d > bound) continue;
    if (b < model_.ranks()) d += bond(a, b, node_of(a), node_of(b));
    if (d > bound) continue;
    lowest.leave(d, seats_.slot_of);
    exchange(a, b);
    lowest.reach(d);
  }
  if (const Model::Placement* best = lowest.behind()) seats_.set(*best);
}

/// Of two that gain together at least one gains alone, so it is enough to look where the rank itself would cost less.
int Shares::best_partner(int rank, float least) const {
  const float* mine = costs(rank);
  const int p = node_of(rank);
  int best = -1;
  for (int q = 0; q < model_.nodes(); ++q) {
    const float own = mine[q] - mine[p];
    if (own >= 0 || q == p) continue;
    for (int slot = model_.first_slot(q); slot < model_.first_slot(q + 1); ++slot) {
      const int other = seats_.item_at[at(slot)];
      float d = own + costs(other)[p] - costs(other)[q];
      if (d >= least) continue;
      if (other < model_.ranks()) d += bond(rank, other, p, q);
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
