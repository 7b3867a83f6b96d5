// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "antiphon/random.hpp"
#include "mapping/search/model.hpp"
#include "mapping/search/thread_time.hpp"

namespace antiphon::mapping {

/// What searches by exchanges share: who is in which slot, the order in which they visit ranks, the temperature, and
/// the best placement so far.

/// Items (ranks, then empty items) and their slots.
struct Seats {
  Model::Placement slot_of;
  std::vector<int> item_at;

  void set(const Model::Placement& placement) {
    slot_of = placement;
    item_at.resize(placement.size());
    for (std::size_t i = 0; i < placement.size(); ++i)
      item_at[static_cast<std::size_t>(placement[i])] = static_cast<int>(i);
  }
  void exchange(int a, int b) {
    int& of_a = slot_of[static_cast<std::size_t>(a)];
    int& of_b = slot_of[static_cast<std::size_t>(b)];
    std::swap(of_a, of_b);
    item_at[static_cast<std::size_t>(of_a)] = a;
    item_at[static_cast<std::size_t>(of_b)] = b;
  }
};

/// Returns the mean cost of the worsening steps among some random ones; `step()` returns the change that one makes.
template <class Step>
float mean_rise(int steps, Step step) {
  float sum = 0;
  int worse = 0;
  for (int t = 0; t < steps; ++t) {
    const float d = step();
    if (d <= 0) continue;
    sum += d;
    ++worse;
  }
  return worse > 0 ? sum / static_cast<float>(worse) : 0;
}

/// Visits all ranks in random order, and again those with changed neighbours, until nothing changes or `until`
/// (thread_seconds()). `improve(rank, least)` makes the rank's best exchange that costs less than `least`, a negative
/// number, and returns the two items, or {−1, −1} if there is none.
template <class Improve>
void look_at_all(const Model& model, const Seats& seats, Random& random, double until, Improve improve) {
  std::vector<int> queue(static_cast<std::size_t>(model.ranks()));
  std::iota(queue.begin(), queue.end(), 0);
  random.shuffle(queue.begin(), queue.end());
  std::vector<char> waiting(queue.size(), 1);
  const auto least = static_cast<float>(-1e-7 * model.total(seats.slot_of) / model.ranks());
  const auto wake = [&](int item) {
    if (item >= model.ranks() || waiting[static_cast<std::size_t>(item)] != 0) return;
    waiting[static_cast<std::size_t>(item)] = 1;
    queue.push_back(item);
  };
  // Number of edges between two looks at the clock.
  constexpr int most_work = 96;
  int work = most_work;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const int rank = queue[head];
    if (work >= most_work) {
      if (thread_seconds() > until) return;
      work = 0;
    }
    work += model.degree(rank) + 1;
    waiting[static_cast<std::size_t>(rank)] = 0;
    const std::pair<int, int> exchanged = improve(rank, least);
    if (exchanged.first < 0) continue;
    for (const int item : {exchanged.first, exchanged.second}) {
      wake(item);
      if (item >= model.ranks()) continue;
      for (const Model::Edge* e = model.begin(item); e != model.end(item); ++e) wake(e->to);
    }
  }
}

/// Falls from `hot` to `cold` by equal ratios, from now until `until` (thread_seconds()).
class Cooling {
 public:
  Cooling(float hot, float cold, double until)
      : hot_(hot), cold_(cold), begin_(thread_seconds()), until_(until), temperature_(hot) {}
  /// Reads the clock. Returns false when the time is over.
  bool goes_on() {
    const double now = thread_seconds();
    if (now >= until_) return false;
    part_ = (now - begin_) / (until_ - begin_);
    temperature_ = hot_ * std::pow(cold_ / hot_, static_cast<float>(part_));
    return true;
  }
  [[nodiscard]] float temperature() const { return temperature_; }
  [[nodiscard]] double part() const { return part_; }

 private:
  float hot_, cold_;
  double begin_, until_;
  float temperature_;
  double part_ = 0;
};

/// The best placement of a walk. It is copied only when the walk leaves it for a worse one.
class Lowest {
 public:
  explicit Lowest(const Model::Placement& begin) : best_(begin) {}
  /// Call before a step that changes the cost by `delta`.
  void leave(float delta, const Model::Placement& here) {
    if (delta <= 0 || !here_) return;
    best_ = here;
    here_ = false;
  }
  /// Call after the step. `counts`: whether this may be the best placement.
  void reach(float delta, bool counts = true) {
    cost_ += static_cast<double>(delta);
    if (!counts || cost_ >= least_) return;
    least_ = cost_;
    here_ = true;
  }
  /// Returns nullptr if the walk ended at its best placement.
  [[nodiscard]] const Model::Placement* behind() const { return here_ ? nullptr : &best_; }

 private:
  Model::Placement best_;
  double cost_ = 0;
  double least_ = 0;
  bool here_ = false;
};

}  // namespace antiphon::mapping
