// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mapping/search/nodes.hpp"
#include "mapping/search/walk.hpp"

namespace antiphon::mapping {

/// Exchanging ranks of different nodes, by tables of what every rank would cost on every node with all others where they
/// are: an exchange is judged by four entries, however many neighbours the ranks have, and only one that is made costs a
/// row for each neighbour. Distances within a node are taken as their mean, so the order of ranks within nodes is left to
/// others.
class Shares {
 public:
  Shares(const Model& model, const NearNodes& near, std::uint64_t seed);

  /// False where there is nothing to exchange, where ranks are pinned, and where the tables would be too large.
  [[nodiscard]] bool usable() const { return usable_; }
  /// Whether the order of ranks within any node makes a difference.
  [[nodiscard]] bool order_matters() const { return order_matters_; }
  void set(const Model::Placement& placement);
  [[nodiscard]] const Model::Placement& placement() const { return seats_.slot_of; }
  /// Best exchanges until none helps, or `until` (thread_seconds()).
  void descend(double until);
  /// Annealing from `hot` to `cold` microseconds by moves of single ranks, which are accepted ten times as often as exchanges:
  /// meanwhile a node may hold more ranks than it has places, at a price. What comes next begins with set().
  void anneal(float hot, float cold, double until);
  /// What a move that makes things worse costs on average.
  [[nodiscard]] float typical_step();

 private:
  [[nodiscard]] int node_of(int item) const { return model_.node(seats_.slot_of[static_cast<std::size_t>(item)]); }
  [[nodiscard]] const float* costs(int item) const { return costs_.data() + static_cast<std::size_t>(item) * nodes_; }
  [[nodiscard]] float bond(int a, int b, int p, int q) const;
  struct Homes;
  [[nodiscard]] int target(int rank, const std::vector<int>& home);
  void fit(Homes& homes);
  [[nodiscard]] int best_partner(int rank, float least) const;
  void exchange(int a, int b);
  void move(int rank, int from, int to);
  [[nodiscard]] Model::Pair mean_inside(int node);

  const Model& model_;
  const NearNodes& near_;
  Random random_;
  std::size_t nodes_;
  bool usable_ = false;
  bool order_matters_ = false;
  std::vector<float> per_message_;  ///< [node · nodes + node]
  std::vector<float> per_byte_;
  std::vector<float> more_per_message_;  ///< by node: of a move that is being made
  std::vector<float> more_per_byte_;
  std::vector<float> costs_;        ///< [item · nodes + node]
  Seats seats_;
};

}  // namespace antiphon::mapping
