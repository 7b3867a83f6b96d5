// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace bench {

/// Whether a 95 % confidence interval of the median lies within ±`tolerance` of it (distribution-free, by order
/// statistics). What is reported is computed from the raw samples elsewhere; this only decides when to stop.
bool median_is_known(std::vector<double> samples, double tolerance);

}  // namespace bench
