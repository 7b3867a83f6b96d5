// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "antiphon/schedule.hpp"

namespace antiphon {

/// A split of `bytes` bytes into `parts` blocks of whole elements, as even as possible: the first blocks are one
/// element longer than the last ones. Bytes beyond the last whole element belong to the last block.
class Partition {
 public:
  Partition(std::int64_t bytes, std::int64_t element_bytes, int parts)
      : bytes_(bytes), element_bytes_(element_bytes), parts_(parts), base_(bytes / element_bytes / parts),
        longer_(bytes / element_bytes % parts) {}

  [[nodiscard]] int parts() const { return parts_; }
  /// Where block i begins; offset(parts()) is the end of the last one.
  [[nodiscard]] std::int64_t offset(int i) const {
    if (i == parts_) return bytes_;
    return (i * base_ + std::min<std::int64_t>(i, longer_)) * element_bytes_;
  }
  [[nodiscard]] std::int64_t size(int i) const { return offset(i + 1) - offset(i); }
  /// Blocks begin…end−1 together.
  [[nodiscard]] std::int64_t size(int begin, int end) const { return offset(end) - offset(begin); }
  /// Block i of `whole`, or blocks begin…end−1.
  [[nodiscard]] Range of(const Range& whole, int i) const { return of(whole, i, i + 1); }
  [[nodiscard]] Range of(const Range& whole, int begin, int end) const {
    return whole.sub(offset(begin), size(begin, end));
  }

 private:
  std::int64_t bytes_, element_bytes_;
  int parts_;
  std::int64_t base_, longer_;
};

}  // namespace antiphon
