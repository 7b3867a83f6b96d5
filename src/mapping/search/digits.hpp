// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "antiphon/random.hpp"
#include "mapping/search/domains.hpp"

namespace antiphon::mapping {

/// Regular placements. A rank's number is written in mixed radix along the strides of the traffic; the ranks, sorted by
/// their digits in another order, then fill the machine. This covers blocks of Cartesian grids, rows and columns, and
/// recursive doubling. On a torus each axis may be folded as well: the further half of every range runs backwards, as
/// in Gray's code, so that partners half a ring apart are a quarter of it apart on average.
class Digits {
 public:
  struct Order {
    std::vector<int> digits;  ///< most significant first
    std::size_t folded = 0;   ///< one bit per axis that can be folded, after one bit for `by_rows_`
  };

  Digits(const Model& model, const Domains& domains);

  /// Reverses the factors of each dimension: 10 becomes 5 pairs of neighbours instead of 2 halves. Returns false if
  /// that changes nothing.
  bool turn();
  /// Returns orders that are good to begin with.
  [[nodiscard]] std::vector<Order> starts() const;
  /// Returns an order that mixes dimensions at random; the digits of each dimension keep their order.
  [[nodiscard]] Order mixed(Random& random) const;
  /// Improves `order` by swapping and moving digits until nothing helps or `until` (thread_seconds()).
  Model::Placement climb(Order order, double until) const;
  /// The share of the traffic along strides that many ranks have in common.
  [[nodiscard]] double regularity() const { return regularity_; }
  [[nodiscard]] int dimensions() const { return dimension_.empty() ? 0 : dimension_.back() + 1; }

 private:
  void place(const Order& order, Model::Placement& out) const;
  [[nodiscard]] std::vector<int> strides();
  void read_digits();
  void add_rows(const std::vector<int>& grid);
  void fold(const std::vector<int>& grid);
  [[nodiscard]] Order interleaved(const std::vector<std::vector<int>>& dims) const;

  const Model& model_;
  std::vector<std::vector<int>> fills_;  ///< [folded]: slots in the order in which they are filled
  Model::Placement pinned_;              ///< slots of pinned ranks, −1 for others
  std::vector<int> radix_;               ///< by digit, most significant first
  std::vector<int> dimension_;           ///< by digit: the dimension that it belongs to
  std::vector<std::vector<int>> digit_;  ///< [digit][rank]
  double regularity_ = 0;
  bool by_rows_ = false;  ///< there are also fills node by node
  int step_ = 1;          ///< every step-th rank's messages are counted while climbing
};

}  // namespace antiphon::mapping
