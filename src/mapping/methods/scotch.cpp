// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "antiphon/index.hpp"
#include "mapping/scotch_library.hpp"
#include "mapping/search/domains.hpp"
#include "mapping/slot_allocator.hpp"

namespace antiphon::mapping::method_scotch {

namespace {

/// Scotch's graph mapping (dual recursive bipartitioning). It takes one weight per edge and one distance per pair, so
/// an edge weighs what its messages cost between the farthest nodes. It fills nodes only about evenly, so ranks that
/// exceed a node's room then move where they cost least.
class ByScotch {
 public:
  explicit ByScotch(const Task& task) : model_(task), domains_(model_) {}

  Assignment run(std::uint64_t seed) {
    const ScotchMachine machine = describe();
    std::vector<int> node(at(model_.ranks()), 0);
    std::vector<int> slot(at(model_.ranks()), -1);
    const std::vector<int> terminals = scotch_map(graph(), machine, seed);
    for (int r = 0; r < model_.ranks(); ++r) {
      const int t = terminals[at(r)];
      slot[at(r)] = by_slot_ ? t : -1;
      node[at(r)] = by_slot_ ? model_.node(t) : t;
    }
    return repaired(node, slot);
  }

 private:
  [[nodiscard]] float dearest() const {
    return model_.nodes() > 1 ? std::max(model_.typical_nodes(0, model_.nodes() - 1), model_.typical_nodes(0, 1)) : 1;
  }

  ScotchGraph graph() const {
    constexpr float heaviest = 20000;
    const bool one_node = model_.nodes() < 2;
    const Model::Pair far = model_.slots() < 2 ? Model::Pair{1, 1} : model_.between(0, model_.slots() - 1);
    ScotchGraph g;
    float most = 0;
    for (int r = 0; r < model_.ranks(); ++r) {
      for (const Model::Edge* e = model_.begin(r); e != model_.end(r); ++e) most = std::max(most, Model::cost(far, *e));
    }
    g.first.push_back(0);
    for (int r = 0; r < model_.ranks(); ++r) {
      for (const Model::Edge* e = model_.begin(r); e != model_.end(r); ++e) {
        g.to.push_back(e->to);
        g.weight.push_back(one_node || most <= 0
                               ? 1
                               : std::max<std::int64_t>(1, std::llround(Model::cost(far, *e) / most * heaviest)));
      }
      g.first.push_back(static_cast<std::int64_t>(g.to.size()));
    }
    return g;
  }

  ScotchMachine describe() {
    if (!domains_.grid().empty()) {
      // Scotch numbers nodes along the first dimension fastest.
      return {ScotchMachine::Form::torus, {domains_.grid().rbegin(), domains_.grid().rend()}, {}};
    }
    ScotchMachine tree{ScotchMachine::Form::tree, {}, {}};
    std::vector<float> costs;
    const int leaf = leaf_size();
    const auto level = [&](int branches, float cost) {
      if (branches < 2) return;
      tree.sizes.push_back(branches);
      costs.push_back(cost);
    };
    level(model_.nodes() / leaf, dearest());
    if (leaf > 1) level(leaf, model_.typical_nodes(0, 1));
    by_slot_ = add_cores(level);
    if (tree.sizes.empty() || model_.nodes() % leaf != 0) return {ScotchMachine::Form::complete, {model_.nodes()}, {}};
    const float least = *std::min_element(costs.begin(), costs.end());
    for (const float c : costs)
      tree.weights.push_back(std::clamp<std::int64_t>(std::llround(4 * c / std::max(least, 1e-9F)), 1, 1000));
    return tree;
  }

  /// Adds the levels within nodes. Returns false if cores make no difference or nodes differ.
  template <class AddLevel>
  bool add_cores(AddLevel add) const {
    const Machine& machine = model_.task().machine();
    const int cores = model_.slots_of(0);
    for (int n = 0; n < model_.nodes(); ++n) {
      if (machine.nodes[at(n)].kind != machine.nodes[0].kind || model_.slots_of(n) != cores) return false;
    }
    std::vector<int> widths = widths_within(cores);
    for (std::size_t i = widths.size(); i-- > 1;) add(widths[i] / widths[i - 1], model_.typical(0, widths[i - 1]));
    return cores > 1;
  }

  /// Returns the sizes of groups of cores, each a multiple of the one before, found from the first core's distances.
  [[nodiscard]] std::vector<int> widths_within(int cores) const {
    std::vector<int> widths{1};
    for (int c = 2; c < cores; ++c) {
      const bool farther = model_.typical(0, c) > model_.typical(0, c - 1) * 1.01F;
      if (farther && cores % c == 0 && c % widths.back() == 0) widths.push_back(c);
    }
    if (cores > 1) widths.push_back(cores);
    return widths;
  }

  /// Returns how many consecutive nodes are nearer to each other than to the rest; 1: there are no such groups.
  [[nodiscard]] int leaf_size() const {
    const int nodes = model_.nodes();
    int best = 1;
    float clearest = 1.2F;
    for (int leaf = 2; leaf < nodes; ++leaf) {
      if (nodes % leaf != 0) continue;
      float inside = 0;
      float outside = 0;
      int pairs[2] = {0, 0};
      for (int a = 0; a < nodes; a += std::max(1, nodes / 64)) {
        for (int b = 0; b < nodes; b += std::max(1, nodes / 256)) {
          if (a == b) continue;
          const bool same = a / leaf == b / leaf;
          (same ? inside : outside) += model_.typical_nodes(a, b);
          ++pairs[same ? 0 : 1];
        }
      }
      if (pairs[0] == 0 || pairs[1] == 0 || inside <= 0) continue;
      const float ratio = outside / static_cast<float>(pairs[1]) / (inside / static_cast<float>(pairs[0]));
      if (ratio < clearest * 1.001F) continue;
      clearest = ratio;
      best = leaf;
    }
    return best;
  }

  /// Moves each rank for which there is no room to where it costs least, with all others in place.
  Assignment repaired(std::vector<int>& node, const std::vector<int>& slot) {
    SlotAllocator allocator(model_.task());
    allocator.pin_all();
    std::vector<int> homeless;
    for (int r = 0; r < model_.ranks(); ++r) {
      if (allocator.placed(r)) {
        node[at(r)] = model_.node(allocator.assignment().slot_of_rank[at(r)]);
        continue;
      }
      if (slot[at(r)] >= 0 && !allocator.taken(slot[at(r)])) {
        allocator.put_at(r, slot[at(r)]);
      } else if (slot[at(r)] >= 0 || !allocator.put(r, node[at(r)])) {
        homeless.push_back(r);
      }
    }
    for (const int r : homeless) allocator.put(r, cheapest(r, node, allocator));
    return allocator.assignment();
  }

  int cheapest(int rank, std::vector<int>& node, const SlotAllocator& allocator) const {
    int best = -1;
    float least = 0;
    for (int n = 0; n < model_.nodes(); ++n) {
      if (allocator.free_slots(n) == 0) continue;
      float sum = 0;
      for (const Model::Edge* e = model_.begin(rank); e != model_.end(rank); ++e) {
        if (node[at(e->to)] != n)
          sum += Model::cost(model_.between(model_.first_slot(n), model_.first_slot(node[at(e->to)])), *e);
      }
      if (best >= 0 && sum >= least) continue;
      least = sum;
      best = n;
    }
    node[at(rank)] = best;
    return best;
  }

  Model model_;
  Domains domains_;
  bool by_slot_ = false;
};

Assignment place(const Task& task, const Budget& budget) {
  if (task.machine().cores() < 2 || task.ranks() < 2) return block_assignment(task);
  return ByScotch(task).run(budget.seed);
}

}  // namespace

extern const Method method{"scotch", "Scotch's graph mapping, where its library is installed", scotch_missing, place};

}  // namespace antiphon::mapping::method_scotch
