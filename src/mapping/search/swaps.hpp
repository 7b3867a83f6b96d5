// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "mapping/search/domains.hpp"
#include "mapping/search/nodes.hpp"
#include "mapping/search/walk.hpp"

namespace antiphon::mapping {

/// Exchanges single ranks with each other or with empty slots.
class Swaps {
 public:
  Swaps(const Model& model, const Domains& domains, const NearNodes& near, std::uint64_t seed);

  void set(const Model::Placement& placement) { seats_.set(placement); }
  [[nodiscard]] const Model::Placement& placement() const { return seats_.slot_of; }
  /// Makes the best exchange of every rank into its neighbours' nodes, or only within its own, until none helps or
  /// `until` (thread_seconds()).
  void descend(double until, bool own_node_alone = false);
  /// Anneals from `hot` to `cold` microseconds until `until`, and keeps the best placement seen.
  void anneal(float hot, float cold, double until);
  /// The average extra cost of an exchange that makes things worse.
  [[nodiscard]] float typical_step();

 private:
  [[nodiscard]] int partner(int rank);
  void neighbours(int rank, std::vector<int>& nodes) const;
  std::pair<int, int> improve(int rank, float least, const std::vector<int>& nodes);
  [[nodiscard]] bool may(int a, int b) const {
    return model_.allowed(a, seats_.slot_of[static_cast<std::size_t>(b)]) &&
           model_.allowed(b, seats_.slot_of[static_cast<std::size_t>(a)]);
  }

  const Model& model_;
  const std::vector<int>& order_;
  std::vector<int> position_;  ///< by slot
  const NearNodes& near_;
  Random random_;
  Seats seats_;
};

}  // namespace antiphon::mapping
