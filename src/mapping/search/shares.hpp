// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mapping/search/share_costs.hpp"
#include "mapping/search/walk.hpp"

namespace antiphon::mapping {

/// Chooses which rank is on which node, judged by the table of ShareCosts, and ignores the order within nodes.
class Shares {
 public:
  Shares(const Model& model, std::uint64_t seed) : model_(model), costs_(model), random_(seed) {}

  /// False if there is nothing to exchange, if ranks are pinned, or if the table would be too large.
  [[nodiscard]] bool usable() const { return costs_.usable() && !model_.pinned(); }
  [[nodiscard]] bool order_matters() const { return costs_.order_matters(); }
  void set(const Model::Placement& placement);
  [[nodiscard]] const Model::Placement& placement() const { return seats_.slot_of; }
  /// Makes the best exchanges until none helps, or `until` (thread_seconds()).
  void descend(double until);
  /// Anneals from `hot` to `cold` microseconds by moves of single ranks (Wander). The next use must begin with set().
  void anneal(float hot, float cold, double until);
  /// The extra cost of typical traffic between two ranks on neighbouring nodes instead of one node.
  [[nodiscard]] float typical_step() const { return costs_.typical_step(); }

 private:
  [[nodiscard]] int node_of(int item) const { return model_.node(seats_.slot_of[static_cast<std::size_t>(item)]); }
  [[nodiscard]] int best_partner(int rank, float least) const;
  void exchange(int a, int b);

  const Model& model_;
  ShareCosts costs_;
  Random random_;
  Seats seats_;
};

}  // namespace antiphon::mapping
