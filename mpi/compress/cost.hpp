// SPDX-License-Identifier: Apache-2.0
// What coding costs the program: processor time, which counts for more where threads wait for processors.
#pragma once

#include <atomic>
#include <cstdint>

namespace antiphon::mpi {

/// Encoding must save so many times what it takes: caches are disturbed, and other things need processors as well.
inline constexpr double margin = 3;
inline constexpr double margin_to_go_on = 2.5;  ///< where it did pay

/// How long this thread waits for each second that it runs, that second included: 1 on a core of its own. Where threads
/// share cores, one that encodes holds up the others. Of the last tenths of a second; 1 if the system does not tell.
double crowding();

/// What a rank's wire carries in a second of processor time: codecs are chosen, and judged, by this. While a rank
/// encodes, those that share its core are held up, while the wire carries their messages; or they all wait, by polling,
/// and lose nothing. That cannot be told from here. So crowding counts, but not more than three
/// (docs/concepts/findings.md).
double worth_bytes_per_s();
double worth_bytes_per_s(double crowding);

/// What coding has cost this process for each byte of messages that are not short.
class Pace {
 public:
  explicit Pace(double usual_ns_per_byte) : usual_ns_per_byte_(usual_ns_per_byte) {}
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
  double usual_ns_per_byte_;  ///< until something has been coded: with caches that others use too
  std::atomic<std::int64_t> bytes_{0};
  std::atomic<std::int64_t> ns_{0};
};
inline Pace encoding_pace{0.8};  ///< without planning
inline Pace decoding_pace{0.5};  ///< decoding is done by others, and taken to cost them as much

/// Whether encoding could pay at all on such a wire, were nothing left of the messages.
bool can_pay(double worth);

/// What trials of messages that did not pay have cost, with what others waited for them: bounded by a share of the
/// process' life.
bool trial_is_allowed();
void note_loss(double processor_s);

}  // namespace antiphon::mpi
