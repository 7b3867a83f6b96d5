// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace antiphon::mapping {

/// Loops over rows of costs, in wide registers where there are any.

/// row += a · x + b · y
void add_scaled(float* __restrict row, std::size_t n, float a, const float* __restrict x, float b,
                const float* __restrict y);

/// How many entries of row + a · x are below `limit` where the row itself is below `most`.
int count_below(const float* __restrict row, std::size_t n, float a, const float* __restrict x, float limit,
                float most);

/// The least entry of a row of costs: none is negative but by rounding.
float least_of(const float* row, std::size_t n);

}  // namespace antiphon::mapping
