// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/recursive.hpp"

#include <algorithm>

#include "antiphon/index.hpp"
#include "mapping/search/bisect.hpp"
#include "mapping/slot_allocator.hpp"

namespace antiphon::mapping {

namespace {

using Pair = Model::Pair;

class Bisection {
 public:
  Bisection(const Model& model, const Domains& domains, Random& random, float near_share,
            const Model::Placement* earlier)
      : model_(model), domains_(domains), random_(random), near_share_(near_share), earlier_(earlier),
        domain_of_(at(model.ranks()), 0), local_(at(model.ranks()), -1) {
    const Machine& machine = model.task().machine();
    // In a tree of switches, everything outside is equally far from both halves.
    pulled_ = !machine.between_nodes.empty() || !machine.between_cores.empty();
    position_.resize(domains.order().size());
    for (std::size_t i = 0; i < domains.order().size(); ++i) position_[at(domains.order()[i])] = static_cast<int>(i);
    seen_.assign(domains.all().size(), -1);
    difference_.resize(domains.all().size());
    pins_ = model.pinned() ? block_assignment(model.task()).slot_of_rank : std::vector<int>();
  }

  Model::Placement run() {
    const auto& all = domains_.all();
    std::vector<std::vector<int>> ranks(all.size());
    for (int r = 0; r < model_.ranks(); ++r) ranks[0].push_back(r);
    Assignment result{std::vector<int>(at(model_.ranks()), -1)};
    for (int d = 0; d < static_cast<int>(all.size()); ++d) {
      auto& here = ranks[at(d)];
      if (here.empty()) continue;
      if (all[at(d)].left < 0) {
        settle(all[at(d)], here, result);
        continue;
      }
      cut(d, here, ranks[at(all[at(d)].left)], ranks[at(all[at(d)].right)]);
      here = {};
    }
    return model_.placement(result);
  }

 private:
  /// Fills slots that are all alike: pinned ranks get theirs, the others follow in order.
  void settle(const Domains::Domain& d, const std::vector<int>& ranks, Assignment& result) const {
    std::vector<char> taken(at(d.size()));
    for (const int r : ranks) {
      if (!pinned(r)) continue;
      result.slot_of_rank[at(r)] = pins_[at(r)];
      taken[at(position_[at(pins_[at(r)])] - d.begin)] = 1;
    }
    int next = 0;
    for (const int r : ranks) {
      if (pinned(r)) continue;
      while (taken[at(next)] != 0) ++next;
      result.slot_of_rank[at(r)] = domains_.order()[at(d.begin + next++)];
    }
  }

  [[nodiscard]] bool pinned(int rank) const { return !pins_.empty() && model_.task().pin_of(rank) != nullptr; }

  /// The extra cost of being in different halves.
  [[nodiscard]] Pair apart(int left, int right) const {
    const Pair across = domains_.between(left, right);
    const Pair l = domains_.within(left);
    const Pair r = domains_.within(right);
    const auto more = [&](float far, float near) { return std::max(far - near_share_ * near, 0.02F * far); };
    return {more(across.per_message, (l.per_message + r.per_message) / 2),
            more(across.per_byte, (l.per_byte + r.per_byte) / 2)};
  }

  /// The extra cost of the right half because of a neighbour outside.
  [[nodiscard]] float pull(int left, int right, const Model::Edge& e) {
    const int outside = domain_of_[at(e.to)];
    const Domains::Domain& there = domains_.all()[at(outside)];
    if (earlier_ != nullptr) {
      const int position = position_[at((*earlier_)[at(e.to)])];
      if (position >= there.begin && position < there.end)
        return Model::cost(difference(left, right, {position, position + 1}), e);
    }
    if (seen_[at(outside)] != left) {
      seen_[at(outside)] = left;
      difference_[at(outside)] = difference(left, right, there);
    }
    return Model::cost(difference_[at(outside)], e);
  }

  [[nodiscard]] Pair difference(int left, int right, const Domains::Domain& there) const {
    const Pair r = domains_.between(right, there);
    const Pair l = domains_.between(left, there);
    return {r.per_message - l.per_message, r.per_byte - l.per_byte};
  }

  void cut(int domain, const std::vector<int>& ranks, std::vector<int>& to_left, std::vector<int>& to_right) {
    const Domains::Domain& d = domains_.all()[at(domain)];
    const Domains::Domain& l = domains_.all()[at(d.left)];
    const Domains::Domain& r = domains_.all()[at(d.right)];
    const int n = static_cast<int>(ranks.size());
    const CutGraph g = graph(d, ranks);
    const Sides side = bisect(g, sizes(n, l.size(), r.size()), random_);
    for (int i = 0; i < n; ++i) {
      const int rank = ranks[at(i)];
      domain_of_[at(rank)] = side[at(i)] == 0 ? d.left : d.right;
      (side[at(i)] == 0 ? to_left : to_right).push_back(rank);
    }
  }

  /// Returns how many of n ranks may go left. If there are spare slots, the smallest cut fills one half as far as it
  /// goes, so half of the cuts use a random share instead.
  [[nodiscard]] Range sizes(int n, int left, int right) {
    const int least = std::max(0, n - right);
    const int most = std::min(n, left);
    if (most - least < 2 || random_.below(2) == 0) return {least, most};
    const int share = least + static_cast<int>(random_.below(static_cast<std::uint32_t>(most - least + 1)));
    return {std::max(least, share - 1), std::min(most, share + 1)};
  }

  CutGraph graph(const Domains::Domain& d, const std::vector<int>& ranks) {
    const Pair weight = apart(d.left, d.right);
    CutGraph g;
    const int n = static_cast<int>(ranks.size());
    g.size.assign(at(n), 1);
    if (pulled_) g.bias.assign(at(n), 0);
    if (!pins_.empty()) g.fixed.assign(at(n), -1);
    for (int i = 0; i < n; ++i) local_[at(ranks[at(i)])] = i;
    const int middle = domains_.all()[at(d.right)].begin;
    for (int i = 0; i < n; ++i) {
      const int rank = ranks[at(i)];
      if (pinned(rank)) g.fixed[at(i)] = position_[at(pins_[at(rank)])] < middle ? 0 : 1;
      for (const Model::Edge* e = model_.begin(rank); e != model_.end(rank); ++e) {
        if (local_[at(e->to)] >= 0) {
          g.to.push_back(local_[at(e->to)]);
          g.weight.push_back(Model::cost(weight, *e));
        } else if (pulled_) {
          g.bias[at(i)] += pull(d.left, d.right, *e);
        }
      }
      g.first.push_back(static_cast<int>(g.to.size()));
    }
    for (const int rank : ranks) local_[at(rank)] = -1;
    return g;
  }

  const Model& model_;
  const Domains& domains_;
  Random& random_;
  float near_share_;
  const Model::Placement* earlier_;
  bool pulled_ = false;
  std::vector<int> position_;   ///< by slot: index in the order
  std::vector<int> pins_;       ///< slots; empty: nothing is pinned
  std::vector<int> domain_of_;  ///< by rank, so far
  std::vector<int> local_;      ///< by rank: index in the graph under construction
  std::vector<int> seen_;       ///< by domain: the left half for which its difference was computed
  std::vector<Pair> difference_;
};

}  // namespace

Model::Placement recursive_bisection(const Model& model, const Domains& domains, Random& random, float near_share,
                                     const Model::Placement* earlier) {
  return Bisection(model, domains, random, near_share, earlier).run();
}

}  // namespace antiphon::mapping
