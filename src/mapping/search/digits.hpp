// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mapping/search/domains.hpp"
#include "mapping/search/random.hpp"

namespace antiphon::mapping {

/// Regular placements: a rank's number is written in mixed radix, along the strides that the traffic shows, and the digits
/// are put in another order; the
/// ranks in that order then fill the machine. Covers blocks of Cartesian grids, rows and columns, recursive doubling.
class Digits {
 public:
  /// Most significant first.
  using Order = std::vector<int>;

  Digits(const Model& model, const Domains& domains);

  /// Orders worth beginning with.
  [[nodiscard]] std::vector<Order> starts() const;
  /// The digits of the dimensions mixed at random, those of each in their order.
  [[nodiscard]] Order mixed(Random& random) const;
  /// Climbs from `order`, swapping and moving digits, until nothing gets better or `until` (thread_seconds()).
  Model::Placement climb(Order order, double until) const;
  [[nodiscard]] int dimensions() const { return dimension_.empty() ? 0 : dimension_.back() + 1; }

 private:
  void place(const Order& order, Model::Placement& out) const;
  [[nodiscard]] std::vector<int> strides() const;
  [[nodiscard]] Order interleaved(const std::vector<std::vector<int>>& dims) const;

  const Model& model_;
  std::vector<int> fill_;   ///< slots in the order in which they are filled
  std::vector<int> free_;   ///< ranks that are not pinned; empty: all
  Model::Placement pinned_; ///< of pinned ranks, −1 for others
  std::vector<int> radix_;  ///< of a digit, most significant first
  std::vector<int> dimension_;  ///< the dimension that a digit is part of
  std::vector<std::vector<int>> digit_;  ///< [digit][rank]
  int step_ = 1;            ///< of ranks whose messages are counted while climbing
};

}  // namespace antiphon::mapping
