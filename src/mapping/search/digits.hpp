// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mapping/search/domains.hpp"
#include "mapping/search/random.hpp"

namespace antiphon::mapping {

/// Regular placements: a rank's number is written in mixed radix, along the strides that the traffic shows, and the
/// digits are put in another order; the ranks in that order then fill the machine. Covers blocks of Cartesian grids,
/// rows and columns, recursive doubling. Where the nodes lie on a torus, each of its axes may be folded as well: the
/// further half of every range is run through backwards, as in Gray's code, so that partners half a ring apart are on
/// average a quarter of it apart.
class Digits {
 public:
  struct Order {
    std::vector<int> digits;  ///< most significant first
    std::size_t folded = 0;   ///< a bit for each axis that can be folded; before them one for `by_rows_`
  };

  Digits(const Model& model, const Domains& domains);

  /// The factors of each dimension's length the other way round: 10 as 5 pairs of neighbours instead of 2 halves. False
  /// where that changes nothing.
  bool turn();
  /// Orders worth beginning with.
  [[nodiscard]] std::vector<Order> starts() const;
  /// The digits of the dimensions mixed at random, those of each in their order.
  [[nodiscard]] Order mixed(Random& random) const;
  /// Climbs from `order`, swapping and moving digits, until nothing gets better or `until` (thread_seconds()).
  Model::Placement climb(Order order, double until) const;
  /// The part of the traffic that goes along strides which many ranks share.
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
  Model::Placement pinned_;              ///< of pinned ranks, −1 for others
  std::vector<int> radix_;               ///< of a digit, most significant first
  std::vector<int> dimension_;           ///< the dimension that a digit is part of
  std::vector<std::vector<int>> digit_;  ///< [digit][rank]
  double regularity_ = 0;
  bool by_rows_ = false;  ///< there are fills node after node, too
  int step_ = 1;          ///< of ranks whose messages are counted while climbing
};

}  // namespace antiphon::mapping
