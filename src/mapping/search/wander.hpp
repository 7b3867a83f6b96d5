// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mapping/search/shares.hpp"

namespace antiphon::mapping {

/// Annealing of which rank is on which node, by moves of single ranks: both ranks of an exchange have to find it no
/// great loss, so moves are accepted ten times as often. Meanwhile a node may hold more ranks than it has places, at a
/// price.
///
/// A rank's turn draws how much worse its place may become, and looks at all nodes at once, a row of the table: any one
/// that costs less than that may be taken. Most ranks want to go nowhere: how much less the best other node would cost
/// (or more) is kept until a neighbour moves, and they are passed over.
class Wander {
 public:
  Wander(const Model& model, ShareCosts& costs, Random& random, const Model::Placement& begin);

  /// From `hot` to `cold` microseconds.
  void run(float hot, float cold, double until);
  /// What a node has too many of goes where there is room and it costs least; then all get places.
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
  float place_ = 0;           ///< the price of a place
  std::vector<int> node_of_;  ///< a rank
  std::vector<int> over_;     ///< how many ranks more than places a node has
  std::vector<float> enter_;  ///< by node: so many prices are to be paid for one more rank
  std::vector<float> leave_;  ///< and so many are saved by one less
  std::vector<float> alone_;  ///< what a rank costs where none of its neighbours is any nearer than anywhere else
  std::vector<float> gap_;    ///< what the best other node would cost a rank more, or `unknown`
};

}  // namespace antiphon::mapping
