// SPDX-License-Identifier: Apache-2.0
// A rank's ways through the patterns of the run's plan. Each rank looks for the pattern that its own counts are nearest
// to; the result of an exchange is right whatever the others do: docs/concepts/credit.md.
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
  /// Returns the advice of the pattern that this rank's counts nearly fit, the last one that fitted first; null if
  /// there is none. Counts the call for the plan's report.
  Advice* advice(const Problem& p);

 private:
  Advice* find(const Problem& p);

  std::vector<Advice> advice_;
  std::vector<std::int64_t> saves_ns_;  ///< what each saves, as the plan expects
  std::size_t last_ = 0;
};

}  // namespace antiphon::mpi
