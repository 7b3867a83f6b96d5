// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "antiphon/credit.hpp"
#include "antiphon/phases.hpp"
#include "antiphon/problem.hpp"

namespace antiphon {

/// Says how a rank goes through an exchange: its steps, and whether it keeps in step as long as it has patience.
struct Way {
  std::span<const ExchangeStep> steps;
  bool in_step = false;
  double patience_s = 0;  ///< lower bound; what runs the exchange has another, and the longer one holds
};

/// Tells whether a rank's counts are nearly the same as others: they differ by `deviation_bytes` in all, of `own_bytes`
/// that the rank sends and receives. The busiest rank's bytes count a little, since a rank that is almost idle changes
/// no order.
constexpr bool nearly_same(std::int64_t deviation_bytes, std::int64_t own_bytes, std::int64_t busiest_bytes) {
  return deviation_bytes <= own_bytes / 8 + busiest_bytes / 64;
}

/// Tells whether a rank has about as much for each other rank, and from each: for all that it can see, the pattern is
/// even, and rotated phases are the best way through it.
bool has_even_blocks(const Problem& p);

/// One rank's part of a scheduled pattern: what it sends and receives, and its way through the phases.
class Advice {
 public:
  Advice(const CompiledPattern& compiled, int rank);

  /// The way through the pattern itself.
  [[nodiscard]] Way way() const { return {steps_, in_step_, patience_s_}; }
  /// The way for a call with these counts, whatever they are: the same phases, with parts that are shortened or
  /// lengthened in proportion. Both ends of a message know its size here and in the pattern, and so adapt it alike:
  /// ranks that all take the same advice keep the same order, even if every count differs. What the pattern leaves out
  /// follows in rotated phases. A rank with very different counts keeps the order and is free: phases are no longer
  /// even, and ranks that are free hold nobody up. The result is valid until the next call.
  Way way_for(const Problem& p);
  /// Tells whether these are this call's counts.
  [[nodiscard]] bool fits(const Problem& p) const;
  /// Tells whether this call's counts are nearly these.
  [[nodiscard]] bool nearly_fits(const Problem& p) const;

 private:
  void add(const PhaseOfParts& phase);

  int rank_;
  std::vector<std::int64_t> send_bytes_, recv_bytes_;  ///< by rank; zero for the rank itself
  std::int64_t busiest_bytes_ = 0;                     ///< most that any rank sends and receives
  std::vector<ExchangeStep> steps_, adapted_;
  bool in_step_ = false;
  double patience_s_ = 0;  ///< while in step
};

}  // namespace antiphon
