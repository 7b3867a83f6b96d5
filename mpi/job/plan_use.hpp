// SPDX-License-Identifier: Apache-2.0
// Counts what of the plan this rank's calls use.
#pragma once

#include <atomic>
#include <cstdint>

#include "antiphon/select.hpp"

namespace antiphon::mpi {

struct PlanUse {
  /// One kind of what a plan says.
  struct Part {
    std::atomic<std::int64_t> calls{0};     ///< as the plan says
    std::atomic<std::int64_t> saved_ns{0};  ///< in these, as the plan expects
    void count(std::int64_t saves_ns) {
      calls.fetch_add(1, std::memory_order_relaxed);
      saved_ns.fetch_add(saves_ns, std::memory_order_relaxed);
    }
  };
  Part algorithms, multicasts, patterns;
  std::atomic<std::int64_t> other_choices{0};   ///< calls that the plan knows no algorithm for
  std::atomic<std::int64_t> other_patterns{0};  ///< alltoallv calls on as many ranks as a pattern's, with other counts

  void count(const Choice& choice) {
    constexpr double ns_per_s = 1e9;
    if (!choice.planned) return static_cast<void>(other_choices.fetch_add(1, std::memory_order_relaxed));
    const bool multicast = choice.algorithm != nullptr && choice.algorithm->multicasts;
    (multicast ? multicasts : algorithms).count(static_cast<std::int64_t>(choice.saves_s * ns_per_s));
  }
  /// `fits` says that the call has the counts of a pattern.
  void count_pattern(bool fits, std::int64_t saves_ns) {
    if (fits) patterns.count(saves_ns);
    else other_patterns.fetch_add(1, std::memory_order_relaxed);
  }
};

}  // namespace antiphon::mpi
