// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/nodes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "antiphon/index.hpp"
#include "mapping/search/thread_time.hpp"

namespace antiphon::mapping {

namespace {

/// Traffic between groups of ranks; a group is what shares a node.
class Groups {
 public:
  Groups(const Model& model, const NearNodes& near, const Model::Placement& placement, Random& random)
      : model_(model), near_(near), random_(random), node_of_(at(model.nodes())), group_at_(at(model.nodes())) {
    std::iota(node_of_.begin(), node_of_.end(), 0);
    std::iota(group_at_.begin(), group_at_.end(), 0);
    count(placement);
  }

  /// Lowers the temperature from `hot` to `cold` times the typical step. Returns the best nodes by group.
  std::vector<int> anneal(double seconds) {
    std::vector<int> best = node_of_;
    const float step = typical_step();
    if (step <= 0) return best;
    double least = 0;
    for (const float hot : {0.4F, 0.06F}) {
      restore(best);
      double cost = least;
      const double begin = thread_seconds();
      const double end = begin + seconds / 2;
      float temperature = hot * step;
      for (long n = 0;; ++n) {
        if ((n & 127) == 0) {
          const double now = thread_seconds();
          if (now >= end) break;
          temperature = hot * step * static_cast<float>(std::pow(0.02, (now - begin) / (end - begin)));
        }
        const auto a = static_cast<int>(random_.below(static_cast<std::uint32_t>(model_.nodes())));
        const int b = partner(a);
        if (a == b || model_.slots_of(node_of_[at(a)]) != model_.slots_of(node_of_[at(b)])) continue;
        const float d = delta(a, b);
        if (d > 0 && (d > 12 * temperature || random_.unit() >= std::exp(-d / temperature))) continue;
        exchange(a, b);
        cost += static_cast<double>(d);
        if (cost < least - 1e-6 * static_cast<double>(step)) {
          least = cost;
          best = node_of_;
        }
      }
    }
    return best;
  }

 private:
  void count(const Model::Placement& placement) {
    std::vector<std::vector<int>> ranks(at(model_.nodes()));
    for (int r = 0; r < model_.ranks(); ++r) ranks[at(model_.node(placement[at(r)]))].push_back(r);
    std::vector<int> place(at(model_.nodes()), -1);
    for (int g = 0; g < model_.nodes(); ++g) {
      const auto row = static_cast<int>(edges_.size());
      for (const int r : ranks[at(g)]) {
        for (const Model::Edge* e = model_.begin(r); e != model_.end(r); ++e) {
          const int h = model_.node(placement[at(e->to)]);
          if (h == g) continue;
          if (place[at(h)] < row) {
            place[at(h)] = static_cast<int>(edges_.size());
            edges_.push_back({h, 0, 0});
          }
          edges_[at(place[at(h)])].bytes += e->bytes;
          edges_[at(place[at(h)])].messages += e->messages;
        }
      }
      first_.push_back(static_cast<int>(edges_.size()));
    }
  }

  [[nodiscard]] float cost(int node, const Model::Edge& e) const {
    return Model::cost(model_.between(model_.first_slot(node), model_.first_slot(node_of_[at(e.to)])), e);
  }

  [[nodiscard]] float delta(int a, int b) const {
    const int p = node_of_[at(a)];
    const int q = node_of_[at(b)];
    float sum = 0;
    for (int e = first_[at(a)]; e < first_[at(a) + 1]; ++e) {
      if (edges_[at(e)].to != b) sum += cost(q, edges_[at(e)]) - cost(p, edges_[at(e)]);
    }
    for (int e = first_[at(b)]; e < first_[at(b) + 1]; ++e) {
      if (edges_[at(e)].to != a) sum += cost(p, edges_[at(e)]) - cost(q, edges_[at(e)]);
    }
    return sum;
  }

  void exchange(int a, int b) {
    std::swap(node_of_[at(a)], node_of_[at(b)]);
    group_at_[at(node_of_[at(a)])] = a;
    group_at_[at(node_of_[at(b)])] = b;
  }

  void restore(const std::vector<int>& nodes) {
    node_of_ = nodes;
    for (int g = 0; g < model_.nodes(); ++g) group_at_[at(node_of_[at(g)])] = g;
  }

  /// Chooses mostly a group near a neighbour of this one.
  int partner(int a) {
    const int degree = first_[at(a) + 1] - first_[at(a)];
    if (degree == 0 || (random_.next() & 7) == 0)
      return static_cast<int>(random_.below(static_cast<std::uint32_t>(model_.nodes())));
    const int node = node_of_[at(edges_[at(first_[at(a)]) + random_.below(static_cast<std::uint32_t>(degree))].to)];
    const auto& near = near_.of(node);
    return near.empty() ? group_at_[at(node)]
                        : group_at_[at(near[random_.below(static_cast<std::uint32_t>(near.size()))])];
  }

  float typical_step() {
    float sum = 0;
    int worse = 0;
    for (int t = 0; t < 400; ++t) {
      const auto a = static_cast<int>(random_.below(static_cast<std::uint32_t>(model_.nodes())));
      const int b = partner(a);
      const float d = a == b ? 0 : delta(a, b);
      if (d <= 0) continue;
      sum += d;
      ++worse;
    }
    return worse > 0 ? sum / static_cast<float>(worse) : 0;
  }

  const Model& model_;
  const NearNodes& near_;
  Random& random_;
  std::vector<int> first_{0};
  std::vector<Model::Edge> edges_;
  std::vector<int> node_of_;   ///< by group
  std::vector<int> group_at_;  ///< by node
};

}  // namespace

NearNodes::NearNodes(const Model& model) : near_(at(model.nodes())) {
  constexpr int most = 8;
  if (model.uniform_network() || model.nodes() > 6000) return;
  std::vector<std::pair<float, int>> others;
  for (int a = 0; a < model.nodes(); ++a) {
    if (model.slots_of(a) == 0) continue;
    others.clear();
    for (int b = 0; b < model.nodes(); ++b) {
      if (b != a && model.slots_of(b) > 0) others.push_back({model.typical_nodes(a, b), b});
    }
    const auto keep = std::min<std::ptrdiff_t>(most, static_cast<std::ptrdiff_t>(others.size()));
    std::partial_sort(others.begin(), others.begin() + keep, others.end());
    for (std::ptrdiff_t k = 0; k < keep; ++k) near_[at(a)].push_back(others[static_cast<std::size_t>(k)].second);
  }
}

void anneal_nodes(const Model& model, const NearNodes& near, Model::Placement& placement, double seconds,
                  Random& random) {
  if (model.nodes() < 3 || model.pinned() || model.uniform_network()) return;
  const std::vector<int> nodes = Groups(model, near, placement, random).anneal(seconds);
  Model::Placement moved = placement;
  for (int& slot : moved) {
    const int from = model.node(slot);
    slot = model.first_slot(nodes[at(from)]) + slot - model.first_slot(from);
  }
  if (model.total(moved) < model.total(placement)) placement = std::move(moved);
}

}  // namespace antiphon::mapping
