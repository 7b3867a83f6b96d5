// SPDX-License-Identifier: Apache-2.0
// A rank's ways through the patterns of the run's plan, by its own counts. The result of an exchange is right whatever
// the others do: docs/concepts/credit-deadlock.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "antiphon/advice.hpp"
#include "antiphon/problem.hpp"

namespace antiphon::mpi {

class PlannedWays {
 public:
  /// For a rank of a communicator of `size` ranks.
  PlannedWays(int rank, int size);

  /// Tells whether the plan has no pattern for so many ranks; the same on every rank.
  [[nodiscard]] bool empty() const { return advice_.empty(); }
  /// What a rank goes by, and what the plan expects that it saves.
  struct Found {
    Advice* advice = nullptr;
    std::int64_t saves_ns = 0;
  };
  /// Returns the pattern that has this rank's counts, the last one that had them first; else, if `nearly` is enough,
  /// one that nearly has. Without advice: there is none.
  Found find(const Problem& p, bool nearly);

 private:
  std::vector<Advice> advice_;
  std::vector<std::int64_t> saves_ns_;  ///< what each saves, as the plan expects
  std::size_t last_ = 0;                ///< that fitted
};

}  // namespace antiphon::mpi
