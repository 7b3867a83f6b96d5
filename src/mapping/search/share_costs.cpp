// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/share_costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "antiphon/index.hpp"
#include "mapping/search/rows.hpp"

namespace antiphon::mapping {

namespace {

/// Limit of the size of the table of ranks and nodes.
constexpr std::size_t most_entries = std::size_t{1} << 24;

}  // namespace

ShareCosts::ShareCosts(const Model& model)
    : model_(model), nodes_(at(model.nodes())), usable_(nodes_ > 1 && nodes_ * at(model.slots()) <= most_entries) {
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
  far_ = {*std::max_element(per_message_.begin(), per_message_.end()),
          *std::max_element(per_byte_.begin(), per_byte_.end())};
}

/// The mean over a node's pairs of slots.
Model::Pair ShareCosts::mean_inside(int node) {
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

void ShareCosts::set(const Model::Placement& placement) {
  rows_.assign(placement.size() * nodes_, 0);
  for (int r = 0; r < model_.ranks(); ++r) {
    for (const Model::Edge* e = model_.begin(r); e != model_.end(r); ++e) {
      const std::size_t there = at(model_.node(placement[at(e->to)])) * nodes_;
      add_scaled(rows_.data() + at(r) * nodes_, nodes_, e->messages, per_message_.data() + there, e->bytes,
                 per_byte_.data() + there);
    }
  }
}

void ShareCosts::move(int rank, int from, int to) {
  const auto difference = [&](const std::vector<float>& table, std::vector<float>& row) {
    for (std::size_t x = 0; x < nodes_; ++x) row[x] = table[at(to) * nodes_ + x] - table[at(from) * nodes_ + x];
  };
  difference(per_message_, more_per_message_);
  difference(per_byte_, more_per_byte_);
  for (const Model::Edge* e = model_.begin(rank); e != model_.end(rank); ++e) {
    add_scaled(rows_.data() + at(e->to) * nodes_, nodes_, e->messages, more_per_message_.data(), e->bytes,
               more_per_byte_.data());
  }
}

float ShareCosts::bond(int a, int b, int p, int q) const {
  if (a >= model_.ranks() || b >= model_.ranks()) return 0;
  const auto before = [](const Model::Edge& x, int rank) { return x.to < rank; };
  const Model::Edge* e = std::lower_bound(model_.begin(a), model_.end(a), b, before);
  if (e == model_.end(a) || e->to != b) return 0;
  const auto more = [&](const std::vector<float>& table) {
    return 2 * table[at(p) * nodes_ + at(q)] - table[at(p) * nodes_ + at(p)] - table[at(q) * nodes_ + at(q)];
  };
  return e->messages * more(per_message_) + e->bytes * more(per_byte_);
}

float ShareCosts::dearest(int rank) const {
  float sum = 0;
  for (const Model::Edge* e = model_.begin(rank); e != model_.end(rank); ++e) sum += Model::cost(far_, *e);
  return sum;
}

float ShareCosts::nearest_step(int node, const std::vector<float>& table) const {
  float nearest = std::numeric_limits<float>::max();
  for (int other = 0; other < model_.nodes(); ++other) {
    if (other != node && model_.slots_of(other) > 0) nearest = std::min(nearest, table[at(node) * nodes_ + at(other)]);
  }
  return std::max(0.0F, nearest - table[at(node) * nodes_ + at(node)]);
}

/// Uses the square of the mean of the roots, because sizes may differ by orders of magnitude: the few heaviest edges,
/// which no move would ever cut, then count less.
float ShareCosts::typical_step() const {
  Model::Pair step{0, 0};
  for (int node = 0; node < model_.nodes(); ++node) {
    if (model_.slots_of(node) == 0) continue;
    const auto share = static_cast<float>(model_.slots_of(node)) / static_cast<float>(model_.slots());
    step.per_message += share * nearest_step(node, per_message_);
    step.per_byte += share * nearest_step(node, per_byte_);
  }
  double roots = 0;
  for (int r = 0; r < model_.ranks(); ++r) {
    for (const Model::Edge* e = model_.begin(r); e != model_.end(r); ++e)
      roots += std::sqrt(static_cast<double>(Model::cost(step, *e)));
  }
  const double mean = roots / static_cast<double>(std::max<std::size_t>(1, model_.edges()));
  return static_cast<float>(mean * mean);
}

}  // namespace antiphon::mapping
