// SPDX-License-Identifier: Apache-2.0
// This file holds the patterns of a communicator's exchanges, with their schedules.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "antiphon/phases.hpp"

namespace antiphon::mpi {

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
