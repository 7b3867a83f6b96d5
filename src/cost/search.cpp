// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "antiphon/closed_forms.hpp"

namespace antiphon {

std::int64_t search_segment_bytes(std::int64_t bytes, std::int64_t least_bytes,
                                  const std::function<double(std::int64_t segment_bytes)>& cost) {
  if (bytes <= std::max<std::int64_t>(least_bytes, 1)) return bytes;
  least_bytes = std::max<std::int64_t>(least_bytes, 1);
  std::int64_t best = bytes;
  double best_s = cost(bytes);
  const auto offer = [&](std::int64_t size) {
    if (size < least_bytes || size > bytes || size == best) return false;
    const double seconds = cost(size);
    if (seconds >= best_s) return false;
    best_s = seconds;
    best = size;
    return true;
  };
  for (std::int64_t size = bytes / 2; size >= least_bytes; size /= 2) offer(size);
  // No step goes uphill, so the search tries both sides, in steps that halve.
  for (std::int64_t step = best / 4; step > 0 && step * 64 >= best;) {
    if (!offer(best + step) && !offer(best - step)) step /= 2;
  }
  return best;
}

}  // namespace antiphon
