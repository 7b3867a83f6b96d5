// SPDX-License-Identifier: Apache-2.0
// Whether encoding pays on one channel (peer, tag, size): tried, watched, left alone where it does not.
#pragma once

#include <algorithm>
#include <cstdint>

namespace antiphon::mpi {

class Policy {
 public:
  /// Whether encoding has been found to pay.
  [[nodiscard]] bool pays() const { return gain_s_ > 0; }

  /// Whether to encode the next message. `allowed`: whether it may be tried where it has not been found to pay.
  bool tries(bool allowed) {
    if (pause_ == 0) return pays() || allowed;
    --pause_;
    return false;
  }

  /// What came of it, in seconds.
  void learn(double gain_s) {
    // Recent messages count most; a single odd one does not turn the channel off.
    gain_s_ += (gain_s - gain_s_) / std::min<double>(++seen_, 8);
    if (gain_s_ > 0) {
      next_pause_ = first_pause;
      return;
    }
    // The first messages are a fair trial: a channel's earlier messages may be what it can be predicted from.
    if (seen_ < trial_messages && next_pause_ == first_pause) return;
    pause_ = next_pause_;
    next_pause_ = std::min(2 * next_pause_, longest_pause);
  }

 private:
  static constexpr std::uint32_t first_pause = 8;
  static constexpr std::uint32_t longest_pause = 4096;
  static constexpr std::uint32_t trial_messages = 12;

  double gain_s_ = 0;
  std::uint32_t seen_ = 0;
  std::uint32_t pause_ = 0;
  std::uint32_t next_pause_ = first_pause;
};

}  // namespace antiphon::mpi
