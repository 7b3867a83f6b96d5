// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

namespace antiphon {

/// The processors' time: a rank does one thing after another, and ranks that share cores wait for one.
class Cores {
 public:
  /// `cores` 0: each rank has its own.
  Cores(std::size_t ranks, int ranks_on_cores, int cores, double slow_down)
      : rank_free_(ranks, 0.0), ranks_on_cores_(static_cast<std::size_t>(ranks_on_cores)), cores_(static_cast<std::size_t>(cores)), slow_down_(slow_down) {
    if (cores_ > 0) core_free_.assign((ranks + ranks_on_cores_ - 1) / ranks_on_cores_ * cores_, 0.0);
  }

  /// Runs for `seconds`, not before `earliest`; when it ends.
  double run(std::size_t rank, double earliest, double seconds) {
    double start = std::max(earliest, rank_free_[rank]);
    double* core = nullptr;
    if (cores_ > 0 && seconds > 0) {
      const auto first = core_free_.begin() + static_cast<std::ptrdiff_t>(rank / ranks_on_cores_ * cores_);
      core = &*std::min_element(first, first + static_cast<std::ptrdiff_t>(cores_));
      start = std::max(start, *core);
    }
    const double end = start + seconds * slow_down_;
    if (core != nullptr) *core = end;
    rank_free_[rank] = end;
    return end;
  }
  [[nodiscard]] double slow_down() const { return slow_down_; }

 private:
  std::vector<double> rank_free_, core_free_;
  std::size_t ranks_on_cores_;
  std::size_t cores_;
  double slow_down_;
};

}  // namespace antiphon
