// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace bench {

/// Between which values the true median lies.
struct Interval {
  double low_s, high_s;
};

double median_of(std::vector<double> samples);
/// Its 95 % confidence interval by order statistics; of fewer than 10 samples the extremes.
Interval median_interval(std::vector<double> samples);

/// Whether a 95 % confidence interval of the median lies within ±`tolerance` of it (distribution-free, by order
/// statistics). What is reported is computed from the raw samples elsewhere; this only decides when to stop.
bool median_is_known(std::vector<double> samples, double tolerance);

}  // namespace bench
