// SPDX-License-Identifier: Apache-2.0
#include "statistics.hpp"

#include <algorithm>
#include <cmath>

namespace bench {

bool median_is_known(std::vector<double> samples, double tolerance) {
  const auto n = static_cast<double>(samples.size());
  // Normal approximation to the binomial order statistics; from 10 samples on it is off by at most one rank.
  if (n < 10) return false;
  std::sort(samples.begin(), samples.end());
  const double half_width = 0.98 * std::sqrt(n);
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor((n - 1) / 2 - half_width)));
  const auto high = static_cast<std::size_t>(std::min(n - 1, std::ceil((n - 1) / 2 + half_width)));
  const double median = samples[samples.size() / 2];
  return samples[high] <= median * (1 + tolerance) && samples[low] >= median * (1 - tolerance);
}

}  // namespace bench
