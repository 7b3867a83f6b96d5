// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <queue>

#include "antiphon/index.hpp"
#include "mapping/search/model.hpp"
#include "mapping/slot_allocator.hpp"

namespace antiphon::mapping::method_greedy {

namespace {

/// The rank that exchanges most with placed ranks comes next and gets the free slot where it costs least. The first is
/// the rank with the most traffic. O(ranks · (nodes + log ranks) · degree).
class Greedy {
 public:
  explicit Greedy(const Task& task)
      : model_(task), allocator_(task), slot_of_(at(task.ranks()), -1), pull_(at(task.ranks()), 0) {}

  Assignment run() {
    const Task& task = model_.task();
    allocator_.pin_all();
    for (int r = 0; r < task.ranks(); ++r) {
      if (allocator_.placed(r)) settled(r, allocator_.assignment().slot_of_rank[at(r)]);
    }
    for (const int r : heaviest_first()) {
      // The queue holds the neighbours of placed ranks, so each connected part of the traffic starts anew here.
      place(r);
      while (!queue_.empty()) {
        const auto [pull, next] = queue_.top();
        queue_.pop();
        if (pull >= pull_[at(next)]) place(next);
      }
    }
    return allocator_.assignment();
  }

 private:
  std::vector<int> heaviest_first() const {
    std::vector<std::pair<float, int>> weights;
    for (int r = 0; r < model_.ranks(); ++r) {
      float sum = 0;
      for (const Model::Edge* e = model_.begin(r); e != model_.end(r); ++e) sum += e->bytes + e->messages;
      weights.push_back({-sum, r});
    }
    std::sort(weights.begin(), weights.end());
    std::vector<int> order;
    for (const auto& [w, r] : weights) order.push_back(r);
    return order;
  }

  void settled(int rank, int slot) {
    slot_of_[at(rank)] = slot;
    for (const Model::Edge* e = model_.begin(rank); e != model_.end(rank); ++e) {
      if (allocator_.placed(e->to)) continue;
      pull_[at(e->to)] += e->bytes + e->messages;
      queue_.push({pull_[at(e->to)], e->to});
    }
  }

  [[nodiscard]] float cost(int rank, int slot) const {
    float sum = 0;
    for (const Model::Edge* e = model_.begin(rank); e != model_.end(rank); ++e) {
      if (slot_of_[at(e->to)] >= 0) sum += Model::cost(model_.between(slot, slot_of_[at(e->to)]), *e);
    }
    return sum;
  }

  /// Tries every free slot of nodes that have neighbours, and one free slot of each other node.
  void place(int rank) {
    if (allocator_.placed(rank)) return;
    int best = -1;
    float least = 0;
    std::vector<char> home(at(model_.nodes()));
    for (const Model::Edge* e = model_.begin(rank); e != model_.end(rank); ++e) {
      if (slot_of_[at(e->to)] >= 0) home[at(model_.node(slot_of_[at(e->to)]))] = 1;
    }
    for (int node = 0; node < model_.nodes(); ++node) {
      if (allocator_.free_slots(node) == 0) continue;
      for (int slot = model_.first_slot(node); slot < model_.first_slot(node + 1); ++slot) {
        if (allocator_.taken(slot)) continue;
        const float c = cost(rank, slot);
        if (best < 0 || c < least) {
          least = c;
          best = slot;
        }
        if (home[at(node)] == 0) break;
      }
    }
    allocator_.put_at(rank, best);
    settled(rank, best);
  }

  Model model_;
  SlotAllocator allocator_;
  std::vector<int> slot_of_;
  std::vector<float> pull_;
  std::priority_queue<std::pair<float, int>> queue_;
};

Assignment place(const Task& task, const Budget&) { return Greedy(task).run(); }

}  // namespace

extern const Method method{
    "greedy", "always the rank that exchanges most with those placed, to its cheapest free place", nullptr, place};

}  // namespace antiphon::mapping::method_greedy
