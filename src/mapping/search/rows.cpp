// SPDX-License-Identifier: Apache-2.0
#include "mapping/search/rows.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

// The C library chooses among clones of a function for several processors.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define ANTIPHON_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ANTIPHON_WIDE
#endif

namespace antiphon::mapping {

ANTIPHON_WIDE void add_scaled(float* __restrict row, std::size_t n, float a, const float* __restrict x, float b,
                              const float* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) row[i] += a * x[i] + b * y[i];
}

ANTIPHON_WIDE int count_below(const float* __restrict row, std::size_t n, float a, const float* __restrict x,
                              float limit, float most) {
  int count = 0;
  for (std::size_t i = 0; i < n; ++i)
    count += static_cast<int>(row[i] + a * x[i] < limit) & static_cast<int>(row[i] < most);
  return count;
}

/// Compilers vectorise the minimum of integers, but not of floating-point numbers. The bits of positive floats have the
/// same order as the numbers.
ANTIPHON_WIDE float least_of(const float* row, std::size_t n) {
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = 0; i < n; ++i) least = std::min(least, std::bit_cast<std::int32_t>(row[i]));
  return std::bit_cast<float>(least);
}

}  // namespace antiphon::mapping
