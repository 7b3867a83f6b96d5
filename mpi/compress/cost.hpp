// SPDX-License-Identifier: Apache-2.0
// Coding costs the program processor time, which counts for more where threads wait for processors.
#pragma once

#include <atomic>
#include <cstdint>

#include "compress/codec_speed.hpp"

namespace antiphon::mpi {

/// Encoding must save this many times what it takes, because it disturbs caches and other work needs processors as
/// well.
inline constexpr double margin = 3;
inline constexpr double margin_to_go_on = 2.5;  ///< for channels where it already pays

/// Returns the time, waiting included, that this thread needs for each second that it runs: 1 on a core of its own.
/// Where threads share cores, one that encodes holds up the others. The value covers the last tenths of a second, and
/// is 1 if the system does not tell.
double crowding();

/// Returns how many bytes a rank's wire carries in a second of processor time; codecs are chosen and judged by this.
/// While a rank encodes, those that share its core may be held up although the wire could carry their messages. Or they
/// all wait by polling, and lose nothing. This rank cannot tell which, so crowding counts, but by a factor of at most
/// three (docs/findings/compression).
double worth_bytes_per_s();
double worth_bytes_per_s(double crowding);

/// Measures what coding costs this process for each byte of messages that are not short.
class Pace {
 public:
  explicit Pace(double usual_ns_per_byte) : usual_ns_per_byte_(usual_ns_per_byte) {}
  /// Says what is usual on this machine; call it before the first note().
  void expect(double ns_per_byte) { usual_ns_per_byte_ = ns_per_byte; }
  void note(std::int64_t bytes, std::int64_t ns) {
    if (bytes < least_bytes) return;
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    ns_.fetch_add(ns, std::memory_order_relaxed);
  }
  [[nodiscard]] double ns_for(std::int64_t bytes) const {
    const auto all = static_cast<double>(bytes_.load(std::memory_order_relaxed));
    const double ns_per_byte =
        all == 0 ? usual_ns_per_byte_ : static_cast<double>(ns_.load(std::memory_order_relaxed)) / all;
    return ns_per_byte * static_cast<double>(bytes);
  }

 private:
  static constexpr std::int64_t least_bytes = 16 << 10;
  double usual_ns_per_byte_;  ///< used until something is coded: with caches that others use too
  std::atomic<std::int64_t> bytes_{0};
  std::atomic<std::int64_t> ns_{0};
};
inline Pace encoding_pace{usual_codec_speed.encode_ns_per_byte};  ///< without planning
inline Pace decoding_pace{
    usual_codec_speed.decode_ns_per_byte};  ///< other ranks decode; their cost is taken to be the same

/// Tells whether encoding could pay on such a wire if nothing were left of the messages.
bool can_pay(double worth);

/// Tells whether another trial may run. What trials of messages that did not pay cost, including other ranks' waiting,
/// is bounded by a share of the process' lifetime.
bool trial_is_allowed();
void note_loss(double processor_s);

}  // namespace antiphon::mpi
