// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <doctest/doctest.h>

namespace antiphon {

/// Compares equal with what differs from `value` by less than `ratio` of the larger of both, and 0 with 0. Doctest
/// alone adds 1 to the larger of both, beside which times of milliseconds are all alike.
inline doctest::Approx near(double value, double ratio) { return doctest::Approx(value).epsilon(ratio).scale(1e-30); }

}  // namespace antiphon
