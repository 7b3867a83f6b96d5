// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mapping/search/model.hpp"

namespace antiphon::mapping {

/// A table of what every rank would cost on every node with all others in place. To judge a move, entries are enough,
/// however many neighbours a rank has; only a move that is made updates a row for each neighbour. Distances within a
/// node are replaced by their mean.
class ShareCosts {
 public:
  explicit ShareCosts(const Model& model);

  /// False if there is one node, or if the table would be too large.
  [[nodiscard]] bool usable() const { return usable_; }
  /// Tells whether the order of ranks within any node matters.
  [[nodiscard]] bool order_matters() const { return order_matters_; }
  void set(const Model::Placement& placement);
  /// The costs of an item by node; empty items have rows too.
  [[nodiscard]] const float* row(int item) const { return rows_.data() + static_cast<std::size_t>(item) * nodes_; }
  void move(int rank, int from, int to);
  /// The extra cost of two items on `p` and `q`, compared with their rows, which assume that the other one stays.
  [[nodiscard]] float bond(int a, int b, int p, int q) const;
  /// The cost of a rank if all its neighbours were as far away as possible.
  [[nodiscard]] float dearest(int rank) const;
  /// The extra cost of typical traffic between two ranks on neighbouring nodes instead of one node.
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
  std::vector<float> more_per_message_;  ///< by node, for the move that is being made
  std::vector<float> more_per_byte_;
  std::vector<float> rows_;  ///< [item · nodes + node]
};

}  // namespace antiphon::mapping
