// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "antiphon/adapt.hpp"

namespace antiphon {

namespace {

/// A way must be faster by about 2 % to be worth a change: in octaves.
constexpr double matters = 0.03;
constexpr int least_pairs_to_stop = 2;
constexpr int least_pairs_to_change = 4;
/// After so many pairs a difference that is still not clear does not matter.
constexpr int most_pairs = 256;
/// The variance that a pair is taken to have before it is known, with the weight of one pair.
constexpr double assumed_variance = 0.1;
/// Twice the logarithm of one over the probability of a wrong verdict (0.02).
constexpr double confidence = 7.8;

}  // namespace

void PairedTest::add(double octaves) {
  ++pairs_;
  const double step = octaves - mean_;
  mean_ += step / pairs_;
  squares_ += step * (octaves - mean_);
}

PairedTest::Verdict PairedTest::verdict() const {
  if (pairs_ < least_pairs_to_stop) return Verdict::open;
  // Robbins's mixture: the mean of n pairs stays within this width for all n, with the probability above.
  const double variance = (squares_ + assumed_variance) / pairs_;
  const double width = std::sqrt(variance * (confidence + log2_alike(1 + pairs_)) / pairs_);
  if (mean_ - width > -matters) return Verdict::slower;
  if (pairs_ >= least_pairs_to_change && mean_ + width < -matters / 2) return Verdict::faster;
  return pairs_ < most_pairs ? Verdict::open : Verdict::slower;
}

}  // namespace antiphon
