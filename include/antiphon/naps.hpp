// SPDX-License-Identifier: Apache-2.0
// How long a rank that waits for messages sleeps between looks where its control group limits its processor time. Looks
// use that time up: the group is then stopped until its next period, mostly for tens of milliseconds, and all who wait
// for the rank with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace antiphon {

/// It sleeps only in long waits, never for longer than half of what the wait has taken so far, and only after the group
/// has been stopped. Not for several threads at once.
class Naps {
 public:
  /// `stopped_periods` tells in how many periods the group has been stopped so far.
  explicit Naps(std::function<std::int64_t()> stopped_periods)
      : stopped_periods_(std::move(stopped_periods)), seen_(stopped_periods_()) {}

  /// Counts a look for messages that ends now. Returns how long to sleep, in nanoseconds; slept() must follow, where
  /// that is not 0.
  std::int64_t look(std::int64_t now_ns) {
    // What a program does between looks of its own takes longer than those.
    if (now_ns - last_ns_ > longest_look_ns) began_ns_ = now_ns;
    last_ns_ = now_ns;
    const std::int64_t waited_ns = now_ns - began_ns_;
    if (waited_ns < long_wait_ns) return 0;
    if (now_ns - checked_ns_ >= between_checks_ns) check(now_ns);
    return sleeps_ ? std::min(waited_ns / 2, longest_nap_ns) : 0;
  }
  void slept(std::int64_t now_ns) { last_ns_ = now_ns; }
  /// The program has made another call: a wait begins with the next look.
  void note_call() { last_ns_ = never_ns; }

 private:
  static constexpr std::int64_t never_ns = -1'000'000'000'000;
  static constexpr std::int64_t longest_look_ns = 50'000;
  static constexpr std::int64_t long_wait_ns = 200'000;
  static constexpr std::int64_t longest_nap_ns = 2'000'000;
  static constexpr std::int64_t between_checks_ns = 10'000'000;
  static constexpr std::int64_t longest_trust_ns = 80'000'000'000;

  /// Without naps the group may be stopped again, which each time takes longer to be tried.
  void check(std::int64_t now_ns) {
    checked_ns_ = now_ns;
    const std::int64_t stopped = stopped_periods_();
    if (std::exchange(seen_, stopped) != stopped) {
      if (!sleeps_) trust_ns_ = std::min(2 * trust_ns_, longest_trust_ns);
      sleeps_ = true;
      stopped_ns_ = now_ns;
    } else if (now_ns - stopped_ns_ >= trust_ns_) {
      sleeps_ = false;
    }
  }

  std::function<std::int64_t()> stopped_periods_;
  std::int64_t seen_;
  std::int64_t began_ns_ = 0;  ///< of this wait
  std::int64_t last_ns_ = 0;   ///< of its looks
  std::int64_t checked_ns_ = 0;
  bool sleeps_ = false;
  std::int64_t stopped_ns_ = 0;            ///< when that was seen last
  std::int64_t trust_ns_ = 2'500'000'000;  ///< so long without a stop before naps end
};

}  // namespace antiphon
