// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "antiphon/multicast.hpp"

namespace antiphon::multicast {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// The time to an answer, smoothed as TCP does (RFC 6298), and how long to wait for one.
class RoundTrip {
 public:
  explicit RoundTrip(const Options& options)
      : first_(options.first_retry_ns), least_(options.least_retry_ns), most_(options.most_retry_ns) {}

  void sample(std::int64_t ns) {
    ns = std::max<std::int64_t>(ns, 1);
    if (smoothed_ == 0) {
      smoothed_ = ns;
      deviation_ = ns / 2;
      return;
    }
    deviation_ += ((ns > smoothed_ ? ns - smoothed_ : smoothed_ - ns) - deviation_) / 4;
    smoothed_ += (ns - smoothed_) / 8;
  }
  [[nodiscard]] std::int64_t smoothed_ns() const { return smoothed_; }
  /// How long to wait after `attempts` without an answer.
  [[nodiscard]] std::int64_t timeout_ns(int attempts) const {
    const std::int64_t once = smoothed_ == 0 ? first_ : std::clamp(smoothed_ + 4 * deviation_, least_, most_);
    return std::min(once << std::min(attempts, 20), most_);
  }

 private:
  std::int64_t first_, least_, most_;
  std::int64_t smoothed_ = 0, deviation_ = 0;
};

}  // namespace antiphon::multicast
