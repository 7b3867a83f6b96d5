// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace antiphon::codec {

/// Measures the time of coding. Reading the clock twice costs a quarter of what coding 1 KiB takes. So on a warm link
/// only one short message in eight is timed, and its time counts for all eight.
class Stopwatch {
 public:
  Stopwatch(std::uint64_t messages_before, std::size_t bytes)
      : weight_(bytes >= long_bytes || messages_before < every ? 1
                : messages_before % every == 0                 ? every
                                                               : 0) {
    if (weight_ != 0) start_ = std::chrono::steady_clock::now();
  }
  [[nodiscard]] std::uint64_t ns() const {
    if (weight_ == 0) return 0;
    const auto spent = std::chrono::steady_clock::now() - start_;
    return weight_ * static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
  }

 private:
  static constexpr std::size_t long_bytes = 16 << 10;
  static constexpr std::uint64_t every = 8;
  std::uint64_t weight_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace antiphon::codec
