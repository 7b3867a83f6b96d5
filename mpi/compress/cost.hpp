// SPDX-License-Identifier: Apache-2.0
// What coding costs the program: processor time, which counts for more where threads wait for processors.
#pragma once

#include <atomic>
#include <cstdint>

namespace antiphon::mpi {

/// Encoding must save so many times what it takes: caches are disturbed, and other things need processors as well.
inline constexpr int margin = 3;

/// Processor time of this thread. Not the clock on the wall: in a millisecond's turn of another process a message would
/// seem to cost a hundred times what it does.
std::int64_t processor_ns();

/// How long this thread waits for each second that it runs, that second included: 1 on a core of its own. Where threads share
/// cores, one that encodes holds up the others. Of the last tenth of a second or so; 1 if the system does not tell.
double crowding();

/// What a rank's wire carries in a second of processor time: codecs are chosen, and judged, by this. While a rank encodes, those that share
/// its core may all be waiting for messages, and lose nothing, or all be held up: the geometric mean of both is taken.
double worth_bytes_per_s();

/// What coding has cost this process for each byte.
class Pace {
 public:
  void note(std::int64_t bytes, std::int64_t ns) {
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    ns_.fetch_add(ns, std::memory_order_relaxed);
  }
  [[nodiscard]] double ns_for(std::int64_t bytes, double otherwise_ns) const {
    const std::int64_t all = bytes_.load(std::memory_order_relaxed);
    if (all == 0) return otherwise_ns;
    return static_cast<double>(ns_.load(std::memory_order_relaxed)) / static_cast<double>(all) * static_cast<double>(bytes);
  }

 private:
  std::atomic<std::int64_t> bytes_{0};
  std::atomic<std::int64_t> ns_{0};
};
inline Pace encoding_pace;  ///< without planning
inline Pace decoding_pace;  ///< decoding is done by others, and taken to cost them as much

/// What trials of messages that did not pay have cost this process, in seconds: bounded by a share of the process' life.
bool trial_is_allowed();
void note_loss(double loss_s);

}  // namespace antiphon::mpi
