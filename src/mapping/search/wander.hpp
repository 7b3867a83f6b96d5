// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mapping/search/shares.hpp"

namespace antiphon::mapping {

/// Anneals which rank is on which node by moves of single ranks. Both ranks of an exchange must lose little by it,
/// so single moves are accepted ten times as often. Meanwhile a node may hold more ranks than slots, at a price.
///
/// In its turn a rank draws how much worse its node may become, and looks at all nodes at once, a row of the table: it
/// may take any that costs less. Most ranks have no such node. The gap to the best other node is kept until a neighbour
/// moves, so that these ranks are skipped.
class Wander {
 public:
  Wander(const Model& model, ShareCosts& costs, Random& random, const Model::Placement& begin);

  /// Cools down from `hot` to `cold` microseconds.
  void run(float hot, float cold, double until);
  /// Moves the excess ranks of nodes to free slots where they cost least, then gives every rank a slot.
  [[nodiscard]] Model::Placement settled();

 private:
  void charge(int node, int more);
  void move(int rank, int to);
  [[nodiscard]] float gap(int rank);
  [[nodiscard]] int any_below(int rank, float limit);
  void move_out(int node);

  const Model& model_;
  ShareCosts& costs_;
  Random& random_;
  float place_ = 0;           ///< the price of room for one rank
  std::vector<int> node_of_;  ///< by rank
  std::vector<int> over_;     ///< by node: number of ranks beyond its slots
  std::vector<float> enter_;  ///< by node: how many prices one more rank pays
  std::vector<float> leave_;  ///< by node: how many prices one rank less saves
  std::vector<float> alone_;  ///< by rank: its cost if no neighbour is near
  std::vector<float> gap_;    ///< by rank: the extra cost of the best other node, or `unknown`
};

}  // namespace antiphon::mapping
