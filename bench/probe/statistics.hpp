// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace probe {

/// A median, and the half width of its 95 % confidence interval relative to it.
struct Median {
  double value = 0;
  double spread = 1e9;
};

/// Uses order statistics and assumes no distribution (normal approximation to the binomial; below 8 samples the
/// extremes).
inline Median median_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto n = static_cast<double>(samples.size());
  const double value = (samples[(samples.size() - 1) / 2] + samples[samples.size() / 2]) / 2;
  const double half_width = 0.98 * std::sqrt(n);
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor((n - 1) / 2 - half_width)));
  const auto high = static_cast<std::size_t>(std::min(n - 1, std::ceil((n - 1) / 2 + half_width)));
  const double spread = value > 0 ? (samples[high] - samples[low]) / 2 / value : 0;
  return {value, samples.size() < 5 ? 1e9 : spread};
}

}  // namespace probe
