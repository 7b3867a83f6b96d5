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
  /// One of the plan's.
  struct Planned {
    Pattern pattern;
    const CompiledPattern* compiled = nullptr;
  };

  /// `node_of_rank` gives the node of each rank of the communicator.
  explicit CompiledPatterns(const std::vector<int>& node_of_rank);

  /// Returns what schedulers need to know of the machine.
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  /// Returns the pattern with its schedule: one of the last few, or a new one. The result is valid until the next call.
  const CompiledPattern& of(const Pattern& pattern);
  /// Returns the plan's patterns of so many ranks; the plan outlives them.
  [[nodiscard]] const std::vector<Planned>& planned() const { return planned_; }
  /// Returns this pattern as the plan has it, or null.
  [[nodiscard]] const CompiledPattern* planned(const Pattern& pattern) const;

 private:
  Fabric fabric_;
  std::vector<Planned> planned_;
  std::deque<std::pair<Pattern, CompiledPattern>> recent_;  ///< the most recent one comes first
};

}  // namespace antiphon::mpi
