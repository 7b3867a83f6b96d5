// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "../collectives/statistics.hpp"

namespace probe {

/// A median, and the half width of its 95 % confidence interval relative to it.
struct Median {
  double value = 0;
  double spread = 1e9;
};

/// Of fewer than 5 samples, no spread is known.
inline Median median_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const double value = (samples[(samples.size() - 1) / 2] + samples[samples.size() / 2]) / 2;
  if (samples.size() < 5) return {value, 1e9};
  const bench::Interval interval = bench::median_interval(std::move(samples));
  return {value, value > 0 ? (interval.high - interval.low) / 2 / value : 0};
}

}  // namespace probe
