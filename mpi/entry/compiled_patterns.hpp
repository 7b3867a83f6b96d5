// SPDX-License-Identifier: Apache-2.0
// The patterns of a communicator's exchanges, with their schedules.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "antiphon/phases.hpp"

namespace antiphon::mpi {

/// Whether the library does such a pattern as well: so little goes into and out of every node that order is worth
/// nothing, and what a call costs the processor decides.
bool is_short(const Pattern& pattern, const Fabric& fabric);
/// What goes into and out of every node of a short pattern, at most.
inline constexpr std::int64_t short_pattern_bytes = 8192;

class CompiledPatterns {
 public:
  /// `node_of_rank`: of the communicator's ranks.
  explicit CompiledPatterns(const std::vector<int>& node_of_rank);

  /// What is known of the machine, for schedulers.
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  /// The pattern with its schedule: one of the last few, or made now. Valid until the next call.
  const CompiledPattern& of(const Pattern& pattern);

 private:
  Fabric fabric_;
  std::deque<std::pair<Pattern, CompiledPattern>> recent_;  ///< the last one first
};

}  // namespace antiphon::mpi
