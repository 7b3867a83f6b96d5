// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace antiphon::mapping {

/// Loops over rows of costs, vectorised where the processor allows.

/// Computes row += a · x + b · y.
void add_scaled(float* __restrict row, std::size_t n, float a, const float* __restrict x, float b,
                const float* __restrict y);

/// Counts the entries of row + a · x that are below `limit` where the row itself is below `most`.
int count_below(const float* __restrict row, std::size_t n, float a, const float* __restrict x, float limit,
                float most);

/// Returns the least entry of a row of costs; entries are negative only by rounding.
float least_of(const float* row, std::size_t n);

}  // namespace antiphon::mapping
