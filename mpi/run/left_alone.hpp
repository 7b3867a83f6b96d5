// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace antiphon::mpi {

/// Tells whether a program leaves its nonblocking calls alone: it computes, and calls MPI again when it wants the
/// result. What a schedule holds back then waits for the end of the computation. A rank judges from its last call and
/// for itself, so this may only decide how far it sends ahead.
class LeftAlone {
 public:
  /// Blocks that are longer together go in order all the same, since they overrun ports.
  static constexpr std::int64_t most_at_once_bytes = 1 << 20;
  /// The same before anything is known: what a first call loses costs it a timeout of TCP, 0.2 s.
  static constexpr std::int64_t first_at_once_bytes = 128 << 10;
  /// Blocks up to this need no grant in a nonblocking exchange, since a grant would be seen after the computation.
  static constexpr std::int64_t least_long_bytes = 16 << 10;

  /// One call, from its start to its end. Times are of any one clock.
  class Call {
   public:
    void begin(double now_s) {
      began_s_ = seen_s_ = now_s;
      longest_s_ = 0;
    }
    /// The program is in MPI again, so messages move.
    void look(double now_s) {
      longest_s_ = std::max(longest_s_, now_s - seen_s_);
      seen_s_ = now_s;
    }

   private:
    friend class LeftAlone;
    double began_s_ = 0, seen_s_ = 0, longest_s_ = 0;
  };

  /// Learns from a call that ends with its last look. Short ones say nothing: a rank may have lost its core meanwhile.
  void note(const Call& call) {
    constexpr double least_s = 0.5e-3;
    constexpr double large_share = 0.4;
    const double whole_s = call.seen_s_ - call.began_s_;
    if (whole_s >= least_s) at_once_bytes_ = call.longest_s_ > large_share * whole_s ? most_at_once_bytes : 0;
  }
  /// Returns how long blocks may be together that the next call sends at once.
  [[nodiscard]] std::int64_t at_once_bytes() const { return at_once_bytes_; }

 private:
  std::int64_t at_once_bytes_ = first_at_once_bytes;
};

}  // namespace antiphon::mpi
