// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace antiphon {

/// Decides in which calls of one pattern a rank goes in step, once it has lost its patience
/// (docs/concepts/credit-agreement.md).
///
/// Ranks that are in step wait for one that is free and lose theirs. So all begin again in the same call: one whose
/// number, which they count alike, is a multiple of a power of two.
class StepRetry {
 public:
  static constexpr std::int64_t first_pause_calls = 1;
  static constexpr std::int64_t longest_pause_calls = 256;
  /// After this many calls in step, what was before was the machine's pause and not the pattern.
  static constexpr int calls_to_trust = 16;

  /// Forgets what was, because the counts are new. The number of calls stays.
  void forget() { *this = StepRetry(call_); }
  /// Begins a call; returns whether this rank goes in step in it.
  bool begin() {
    ++call_;
    return call_ >= next_try_;
  }
  /// Ends it. `stalled` says that the rank lost its patience.
  void end(bool stalled) {
    if (!stalled) {
      if (call_ >= next_try_ && ++good_calls_ >= calls_to_trust) pause_calls_ = 0;
      return;
    }
    good_calls_ = 0;
    pause_calls_ = std::clamp(2 * pause_calls_, first_pause_calls, longest_pause_calls);
    next_try_ = (call_ / pause_calls_ + 1) * pause_calls_;
  }

  StepRetry() = default;

 private:
  explicit StepRetry(std::int64_t call) : call_(call) {}

  std::int64_t call_ = -1;
  std::int64_t next_try_ = 0;
  std::int64_t pause_calls_ = 0;
  int good_calls_ = 0;
};

}  // namespace antiphon
