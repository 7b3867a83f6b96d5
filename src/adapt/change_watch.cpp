// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "antiphon/adapt.hpp"

namespace antiphon {

namespace {

/// The median and the spread of this many times say what is usual.
constexpr std::size_t enough = 16;
constexpr double least_spread = 0.1;  ///< in octaves: 7 %
constexpr double most_spread = 1;     ///< so that a step to four times is seen in any noise
/// One time, however long, counts as at most so many spreads, so that an outlier is no change.
constexpr double most_deviation = 3;
/// A deviation up to so many spreads is none, and so many in sum are a change.
constexpr double slack = 1;
constexpr double limit = 8;

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

bool ChangeWatch::add(double octaves) {
  if (spread_ == 0) {
    first_.push_back(octaves);
    if (first_.size() == enough) settle();
    return false;
  }
  const double deviation = std::clamp((octaves - usual_) / spread_, -most_deviation, most_deviation);
  above_ = std::max(0.0, above_ + deviation - slack);
  below_ = std::max(0.0, below_ - deviation - slack);
  if (above_ < limit && below_ < limit) return false;
  *this = {};
  return true;
}

void ChangeWatch::settle() {
  constexpr double deviations_per_median = 1.4826;  // of a normal distribution
  usual_ = median_of(first_);
  for (double& value : first_) value = std::abs(value - usual_);
  spread_ = std::clamp(deviations_per_median * median_of(std::move(first_)), least_spread, most_spread);
  first_.clear();
}

}  // namespace antiphon
