// SPDX-License-Identifier: Apache-2.0
#include "statistics.hpp"

#include <algorithm>
#include <cmath>

namespace bench {

double median_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples.empty() ? 0 : samples[samples.size() / 2];
}

Interval median_interval(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  if (samples.empty()) return {0, 0};
  const auto n = static_cast<double>(samples.size());
  if (n < 10) return {samples.front(), samples.back()};
  // Normal approximation to the binomial order statistics; from 10 samples on it is off by at most one rank.
  const double half_width = 0.98 * std::sqrt(n);
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor((n - 1) / 2 - half_width)));
  const auto high = static_cast<std::size_t>(std::min(n - 1, std::ceil((n - 1) / 2 + half_width)));
  return {samples[low], samples[high]};
}

bool median_is_known(std::vector<double> samples, double tolerance) {
  if (samples.size() < 10) return false;
  const double median = median_of(samples);
  const Interval interval = median_interval(std::move(samples));
  return interval.high <= median * (1 + tolerance) && interval.low >= median * (1 - tolerance);
}

}  // namespace bench
