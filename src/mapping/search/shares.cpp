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

/// row += a · x + b · y. Half of all time is spent here where nodes are many, so wide registers are used where there are any.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void add_scaled(float* __restrict row, std::size_t n, float a, const float* __restrict x, float b, const float* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) row[i] += a * x[i] + b * y[i];
}

}  // namespace

Shares::Shares(const Model& model, const NearNodes& near, std::uint64_t seed)
    : model_(model), near_(near), random_(seed), nodes_(at(model.nodes())) {
  usable_ = nodes_ > 1 && !model.pinned() && nodes_ * at(model.slots()) <= most_entries;
  if (!usable_) return;
  per_message_.resize(nodes_ * nodes_);
  per_byte_.resize(nodes_ * nodes_);
  more_per_message_.resize(nodes_);
  more_per_byte_.resize(nodes_);
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
    for (const Model::Edge* e = model_.begin(r); e != model_.end(r); ++e) {
      const std::size_t there = at(node_of(e->to)) * nodes_;
      add_scaled(costs_.data() + at(r) * nodes_, nodes_, e->messages, per_message_.data() + there, e->bytes, per_byte_.data() + there);
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

void Shares::move(int rank, int from, int to) {
  const auto difference = [&](const std::vector<float>& table, std::vector<float>& row) {
    for (std::size_t x = 0; x < nodes_; ++x) row[x] = table[at(to) * nodes_ + x] - table[at(from) * nodes_ + x];
  };
  difference(per_message_, more_per_message_);
  difference(per_byte_, more_per_byte_);
  for (const Model::Edge* e = model_.begin(rank); e != model_.end(rank); ++e) {
    add_scaled(costs_.data() + at(e->to) * nodes_, nodes_, e->messages, more_per_message_.data(), e->bytes, more_per_byte_.data());
  }
}

void Shares::exchange(int a, int b) {
  const int p = node_of(a);
  const int q = node_of(b);
  if (a < model_.ranks()) move(a, p, q);
  if (b < model_.ranks()) move(b, q, p);
  seats_.exchange(a, b);
}

/// Nodes of ranks, without places.
struct Shares::Homes {
  std::vector<int> of;    ///< a rank
  std::vector<int> over;  ///< how many ranks more than places a node has

  explicit Homes(const Shares& shares) {
    const Model& model = shares.model_;
    for (int n = 0; n < model.nodes(); ++n) over.push_back(-model.slots_of(n));
    for (int r = 0; r < model.ranks(); ++r) {
      of.push_back(shares.node_of(r));
      ++over[at(of.back())];
    }
  }
  void put(int rank, int node) {
    --over[at(of[at(rank)])];
    ++over[at(node)];
    of[at(rank)] = node;
  }
  /// So many times the price of a place has to be paid more after a move.
  [[nodiscard]] int crowding(int from, int to) const { return std::max(0, 2 * over[at(to)] + 1) - std::max(0, 2 * over[at(from)] - 1); }
};

/// A neighbour's node, or one beside it; sometimes any.
int Shares::target(int rank, const std::vector<int>& home) {
  const int degree = model_.degree(rank);
  const std::uint64_t dice = random_.next() >> 20;
  if (degree == 0 || (dice & 15) == 0) return model_.node(static_cast<int>(random_.below(static_cast<std::uint32_t>(model_.slots()))));
  const int node = home[at(model_.begin(rank)[random_.below(static_cast<std::uint32_t>(degree))].to)];
  const auto& near = near_.of(node);
  return (dice & 0x30) == 0 && !near.empty() ? near[random_.below(static_cast<std::uint32_t>(near.size()))] : node;
}

float Shares::typical_step() {
  const Homes homes(*this);
  return mean_rise(1000, [&] {
    const auto rank = static_cast<int>(random_.below(static_cast<std::uint32_t>(model_.ranks())));
    return costs(rank)[target(rank, homes.of)] - costs(rank)[homes.of[at(rank)]];
  });
}

void Shares::anneal(float hot, float cold, double until) {
  const auto ranks = static_cast<std::uint32_t>(model_.ranks());
  Homes homes(*this);
  Cooling cooling(hot, cold, until);
  float place = 0;
  for (long n = 0;; ++n) {
    if ((n & 255) == 0) {
      if (!cooling.goes_on()) break;
      // Dear enough that little is left to be put right at the end, however cold it is then.
      place = hot * (1 - 0.5F * static_cast<float>(cooling.part()));
    }
    const auto rank = static_cast<int>(random_.below(ranks));
    const int from = homes.of[at(rank)];
    const int to = target(rank, homes.of);
    if (from == to) continue;
    const float d = costs(rank)[to] - costs(rank)[from] + place * static_cast<float>(homes.crowding(from, to));
    if (d > 0 && d > -cooling.temperature() * std::log(random_.unit() + 1e-7F)) continue;
    move(rank, from, to);
    homes.put(rank, to);
  }
  fit(homes);
}

/// What a node has too many of goes where there is room and it costs least; then all get places.
void Shares::fit(Homes& homes) {
  for (int from = 0; from < model_.nodes(); ++from) {
    while (homes.over[at(from)] > 0) {
      std::pair<int, int> best{-1, -1};
      float least = 0;
      for (int rank = 0; rank < model_.ranks(); ++rank) {
        if (homes.of[at(rank)] != from) continue;
        for (int to = 0; to < model_.nodes(); ++to) {
          const float d = costs(rank)[to] - costs(rank)[from];
          if (homes.over[at(to)] >= 0 || (best.first >= 0 && d >= least)) continue;
          least = d;
          best = {rank, to};
        }
      }
      move(best.first, from, best.second);
      homes.put(best.first, best.second);
    }
  }
  std::vector<int> next;
  for (int node = 0; node < model_.nodes(); ++node) next.push_back(model_.first_slot(node));
  Assignment found;
  for (const int node : homes.of) found.slot_of_rank.push_back(next[at(node)]++);
  seats_.set(model_.placement(found));
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
