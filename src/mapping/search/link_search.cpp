// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/link_search.hpp"

#include <algorithm>
#include <cmath>

#include "antiphon/index.hpp"
#include "mapping/links.hpp"
#include "mapping/search/thread_time.hpp"
#include "mapping/search/walk.hpp"

namespace antiphon::mapping {

namespace {

/// Late acceptance: an exchange is made if it is no worse than the state this many exchanges ago.
constexpr std::size_t memory = 400;

class LinkSearch {
 public:
  LinkSearch(const Model& model, const Domains& domains, const Model::Placement& placement, Random& random)
      : model_(model), order_(domains.order()), links_(model.task().machine()), random_(random),
        position_(placement.size()), times_(at(links_.count() / 2 + model.ranks()), 0) {
    seats_.set(placement);
    for (std::size_t i = 0; i < order_.size(); ++i) position_[at(order_[i])] = static_cast<int>(i);
    for (int r = 0; r < model_.ranks(); ++r) {
      for (const Model::Edge* e = model_.begin(r); e != model_.end(r); ++e) {
        if (e->to > r) add(r, *e, 1);
      }
    }
    scale();
  }

  Model::Placement run(double until) {
    Model::Placement best = seats_.slot_of;
    double least = sum_;
    std::vector<double> past(memory, sum_);
    for (std::size_t n = 0;; ++n) {
      if ((n & 31) == 0 && thread_seconds() >= until) break;
      if ((n & 0xfff) == 0xfff) exact_sum();
      const auto a = static_cast<int>(random_.below(static_cast<std::uint32_t>(model_.ranks())));
      const int b = partner(a);
      if (a == b ||
          (model_.pinned() && !(model_.allowed(a, seats_.slot_of[at(b)]) && model_.allowed(b, seats_.slot_of[at(a)]))))
        continue;
      const double before = sum_;
      exchange(a, b);
      double& then = past[n % memory];
      if (sum_ > before && sum_ > then) exchange(a, b);
      then = sum_;
      if (sum_ >= least * (1 - 1e-9)) continue;
      least = sum_;
      best = seats_.slot_of;
    }
    return best;
  }

 private:
  /// The eighth power is close to counting only the longest time.
  [[nodiscard]] double power(std::size_t i) const {
    const double x = times_[i] * inverse_scale_;
    const double x2 = x * x;
    const double x4 = x2 * x2;
    return x4 * x4;
  }

  void change(std::size_t i, double seconds) {
    sum_ -= power(i);
    times_[i] += seconds;
    sum_ += power(i);
  }

  /// Adds an edge's traffic to the links between its ranks, half in each direction, and to both ranks.
  void add(int rank, const Model::Edge& e, double sign) {
    const int p = seats_.slot_of[at(rank)];
    const int q = seats_.slot_of[at(e.to)];
    const Model::Pair pair = model_.between(p, q);
    const double seconds = sign * 0.5e-6 * static_cast<double>(pair.per_byte * e.bytes + pair.per_message * e.messages);
    const std::size_t ranks = at(links_.count() / 2);
    change(ranks + at(rank), seconds);
    change(ranks + at(e.to), seconds);
    const int a = model_.node(p);
    const int b = model_.node(q);
    if (a == b) return;
    const double bytes = sign * 0.5 * static_cast<double>(e.bytes);
    links_.each(a, b, [&](int link) {
      const double rate = links_.bytes_per_s(link);
      if (rate > 0) change(at(link / 2), bytes / rate);
    });
  }

  void add_all(int item, int except, double sign) {
    if (item >= model_.ranks()) return;
    for (const Model::Edge* e = model_.begin(item); e != model_.end(item); ++e) {
      if (e->to != except) add(item, *e, sign);
    }
  }

  void exchange(int a, int b) {
    // The edge between the two ranks is counted once, with the first of them.
    add_all(a, -1, -1);
    add_all(b, a, -1);
    seats_.exchange(a, b);
    add_all(a, -1, 1);
    add_all(b, a, 1);
  }

  int partner(int rank) {
    const int degree = model_.degree(rank);
    const std::uint64_t dice = random_.next() >> 20;
    if (degree == 0 || (dice & 3) == 0)
      return seats_.item_at[random_.below(static_cast<std::uint32_t>(seats_.item_at.size()))];
    const int slot = seats_.slot_of[at(model_.begin(rank)[random_.below(static_cast<std::uint32_t>(degree))].to)];
    const int reach = 1 << (1 + ((dice >> 4) & 7));
    const int p =
        position_[at(slot)] + static_cast<int>(random_.below(static_cast<std::uint32_t>(2 * reach + 1))) - reach;
    return seats_.item_at[at(order_[at(std::clamp(p, 0, static_cast<int>(order_.size()) - 1))])];
  }

  void scale() {
    const double most = *std::max_element(times_.begin(), times_.end());
    inverse_scale_ = most > 0 ? 1 / most : 1;
    exact_sum();
  }

  /// Recomputes the sum to remove accumulated rounding errors.
  void exact_sum() {
    sum_ = 0;
    for (std::size_t i = 0; i < times_.size(); ++i) sum_ += power(i);
  }

  const Model& model_;
  const std::vector<int>& order_;
  Links links_;
  Random& random_;
  Seats seats_;
  std::vector<int> position_;
  std::vector<double> times_;  ///< of links (equal in both directions), then of ranks
  double inverse_scale_ = 1;
  double sum_ = 0;
};

}  // namespace

Model::Placement search_links(const Model& model, const Domains& domains, Model::Placement placement, Random& random,
                              double until) {
  if (model.ranks() < 2 || model.edges() == 0) return placement;
  return LinkSearch(model, domains, placement, random).run(until);
}

}  // namespace antiphon::mapping
