// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

namespace antiphon {

/// The processors' time: each rank does one thing after another.
class Cores {
 public:
  /// Everything takes `slow_down` times longer where one rank stands for many that share cores.
  Cores(std::size_t ranks, double slow_down) : rank_free_(ranks, 0.0), slow_down_(slow_down) {}

  /// Runs for `seconds`, but not before `earliest`. Returns when it ends.
  double run(std::size_t rank, double earliest, double seconds) {
    return rank_free_[rank] = std::max(earliest, rank_free_[rank]) + seconds * slow_down_;
  }
  [[nodiscard]] double free_s(std::size_t rank) const { return rank_free_[rank]; }
  [[nodiscard]] double slow_down() const { return slow_down_; }

 private:
  std::vector<double> rank_free_;
  double slow_down_;
};

}  // namespace antiphon
