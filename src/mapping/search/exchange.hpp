// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "mapping/search/model.hpp"
#include "mapping/search/random.hpp"

namespace antiphon::mapping {

/// The exchange of MPIPP (Chen et al., ICS 2006), which paper 2, Section 3 uses: the exchange of two ranks that gains most is
/// made, gain or loss, and both are locked, until all are; the first exchanges that gained most together stay; again until
/// nothing is gained. Only the gains that an exchange changes are computed again: the same result, sooner. A pass takes more
/// than (ranks + empty slots)² steps.
class PairwiseExchange {
 public:
  explicit PairwiseExchange(const Model& model) : model_(model), items_(model.slots()) {}

  /// Passes from that placement until nothing is gained, or until thread_seconds() says so.
  Model::Placement run(Model::Placement begin, double until);

 private:
  [[nodiscard]] bool may(int a, int b) const;
  void refresh(int a);
  void touch(int item);
  void update(int a, int b);
  bool pass(double until);
  std::size_t exchange_all(double until);

  const Model& model_;
  int items_;
  Model::Placement slot_of_;
  std::vector<char> locked_;
  std::vector<char> touched_;
  std::vector<int> best_;                  ///< partner of an item, behind it; −1: none
  std::vector<float> gain_;
  std::vector<std::pair<int, int>> made_;  ///< exchanges of a pass
};

/// Pinned ranks at their places, the others anywhere.
Model::Placement random_placement(const Model& model, Random& random);

}  // namespace antiphon::mapping
