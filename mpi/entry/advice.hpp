// SPDX-License-Identifier: Apache-2.0
// An Advice is one rank's part of a scheduled pattern.
#pragma once

#include <cstdint>
#include <vector>

#include "antiphon/credit.hpp"
#include "antiphon/phases.hpp"
#include "antiphon/problem.hpp"
#include "run/exchange.hpp"

namespace antiphon::mpi {

/// Holds what one rank sends and receives in a scheduled pattern, and its way through the phases.
struct Advice {
  std::vector<std::int64_t> send_bytes, recv_bytes;  ///< by rank; zero for the rank itself
  std::vector<ExchangeStep> steps;
  bool in_step = false;
  double patience_s = 0;  ///< while in step

  Advice(const CompiledPattern& compiled, int rank);
  [[nodiscard]] Way way() const { return {steps, in_step, patience_s}; }
  /// Tells whether these are this call's counts.
  [[nodiscard]] bool fits(const Problem& p) const;
};

}  // namespace antiphon::mpi
