// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "phases/ports.hpp"

namespace antiphon {

/// Puts messages one by one into the first phase in which their ports, and with `uplinks` also those, are free.
class FirstFit {
 public:
  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

  FirstFit(const Pattern& pattern, const Fabric& fabric, bool uplinks);

  /// False if none of the first `limit` phases has room. Messages within a node always have.
  bool place(const PatternMessage& m, std::size_t limit);
  [[nodiscard]] std::size_t phase_count() const { return phases_.size(); }
  /// The phases so far, and after them `together` the messages within nodes and those that are `left`.
  Phases finish(std::string scheduler, const std::vector<PatternMessage>& left);

 private:
  using Bits = std::vector<std::uint64_t>;

  [[nodiscard]] static std::uint64_t word(const Bits& bits, std::size_t i) { return i < bits.size() ? bits[i] : 0; }
  [[nodiscard]] std::size_t first_free(const Ports::Use& use) const;
  void take(const Ports::Use& use, std::size_t phase);

  Ports ports_;
  int size_;
  bool uplinks_;
  std::vector<Bits> out_, in_;   ///< by node: phases in which the link is taken
  std::vector<Bits> up_, down_;  ///< by switch: phases in which the uplink is full
  std::vector<std::vector<int>> up_count_, down_count_;
  std::vector<PhaseOfParts> phases_;
  std::vector<PatternMessage> local_;
};

}  // namespace antiphon
