// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mapping/search/model.hpp"

namespace antiphon::mapping {

/// A table of what every rank would cost on every node with all others where they are. Whatever is tried is judged by
/// entries of it, however many neighbours the ranks have, and only a move that is made costs a row for each neighbour.
/// Distances within a node are taken as their mean.
class ShareCosts {
 public:
  explicit ShareCosts(const Model& model);

  /// False where there is one node, and where the table would be too large.
  [[nodiscard]] bool usable() const { return usable_; }
  /// Whether the order of ranks within any node makes a difference.
  [[nodiscard]] bool order_matters() const { return order_matters_; }
  void set(const Model::Placement& placement);
  /// By node; of empty items too.
  [[nodiscard]] const float* row(int item) const { return rows_.data() + static_cast<std::size_t>(item) * nodes_; }
  void move(int rank, int from, int to);
  /// What two items would cost more together on `p` and `q` than their rows say, because each of them takes the other
  /// to stay.
  [[nodiscard]] float bond(int a, int b, int p, int q) const;
  /// What a rank would cost with all of its neighbours as far away as nodes can be.
  [[nodiscard]] float dearest(int rank) const;
  /// What typical traffic between two ranks costs more on two nodes near each other than on one.
  [[nodiscard]] float typical_step() const;

 private:
  [[nodiscard]] Model::Pair mean_inside(int node);
  [[nodiscard]] float nearest_step(int node, const std::vector<float>& table) const;

  const Model& model_;
  std::size_t nodes_;
  bool usable_;
  bool order_matters_ = false;
  Model::Pair far_{0, 0};
  std::vector<float> per_message_;  ///< [node · nodes + node]
  std::vector<float> per_byte_;
  std::vector<float> more_per_message_;  ///< by node: of a move that is being made
  std::vector<float> more_per_byte_;
  std::vector<float> rows_;  ///< [item · nodes + node]
};

}  // namespace antiphon::mapping
