// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace bench {

/// The bounds of the true median.
struct Interval {
  double low, high;
};

double median_of(std::vector<double> samples);
/// The median's 95 % confidence interval by order statistics; with fewer than 10 samples, the extremes.
Interval median_interval(std::vector<double> samples);

/// Tells whether the median's 95 % confidence interval lies within ±`tolerance` (distribution-free, by order
/// statistics). It only decides when to stop; reports use the raw samples.
bool median_is_known(std::vector<double> samples, double tolerance);

}  // namespace bench
