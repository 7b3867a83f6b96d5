// SPDX-License-Identifier: Apache-2.0
// This file holds the patterns of a communicator's exchanges, with their schedules.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "antiphon/phases.hpp"

namespace antiphon::mpi {

/// Tells whether the library performs such a pattern as well: so little goes into and out of every node that the order
/// has no effect, and the processor time of a call decides.
bool is_short(const Pattern& pattern, const Fabric& fabric);
/// At most this much goes into and out of every node of a short pattern.
inline constexpr std::int64_t short_pattern_bytes = 8192;

class CompiledPatterns {
 public:
  /// `node_of_rank` gives the node of each rank of the communicator.
  explicit CompiledPatterns(const std::vector<int>& node_of_rank);

  /// Returns what schedulers need to know of the machine.
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  /// Returns the pattern with its schedule: one of the last few, or a new one. The result is valid until the next call.
  const CompiledPattern& of(const Pattern& pattern);

 private:
  Fabric fabric_;
  std::deque<std::pair<Pattern, CompiledPattern>> recent_;  ///< the most recent one comes first
};

}  // namespace antiphon::mpi
