// SPDX-License-Identifier: Apache-2.0
// A Policy finds out whether encoding pays on one channel (peer, tag, size): it tries, watches, and pauses if it does
// not pay.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compress/cost.hpp"

namespace antiphon::mpi {

class Policy {
 public:
  /// Tells whether encoding has been found to pay.
  [[nodiscard]] bool pays() const { return pays_; }

  /// Tells whether the next message must be left alone.
  bool pauses() { return pause_ > 0 && pause_-- > 0; }

  /// Learns from a result: the wire time saved and the time that coding took, in seconds of processor time.
  void learn(double saved_s, double coding_s) {
    // Recent messages count most, and a single odd one does not turn the channel on or off.
    const double weight = 1 / std::min<double>(++seen_, 8);
    saved_s_ += (saved_s - saved_s_) * weight;
    coding_s_ += (coding_s - coding_s_) * weight;
    pays_ = saved_s_ > (pays_ ? margin_to_go_on : margin) * coding_s_;
    if (pays_) {
      next_pause_ = first_pause;
      return;
    }
    // The first messages are a fair trial, because the channel may become predictable only from its earlier messages.
    if (seen_ < trial_messages && next_pause_ == first_pause) return;
    pause_ = next_pause_;
    next_pause_ = std::min(2 * next_pause_, longest_pause);
  }

 private:
  static constexpr std::uint32_t first_pause = 8;
  static constexpr std::uint32_t longest_pause = 4096;
  static constexpr std::uint32_t trial_messages = 8;

  bool pays_ = false;
  double saved_s_ = 0;
  double coding_s_ = 0;
  std::uint32_t seen_ = 0;
  std::uint32_t pause_ = 0;
  std::uint32_t next_pause_ = first_pause;
};

}  // namespace antiphon::mpi
