// SPDX-License-Identifier: Apache-2.0
// Whether it pays to encode a collective's messages: tried, agreed on by all ranks, and tried again ever more rarely.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "compress/collectives.hpp"

namespace antiphon::mpi {

/// Of one decision (collective and size) of a communicator. Both sides of a schedule must know whether its messages are
/// encoded, so a rank cannot leave it off by itself, as it does with messages; all add up what they saw at calls 2, 8,
/// 32, 128 and every 512th.
class CodingTrial {
 public:
  /// At a call: whether it is to be encoded. The same on every rank, since all count the same calls.
  bool begin();
  /// After that call. `may_wait`, the same on every rank: now is a time for ranks to agree.
  void end(MPI_Comm own, bool may_wait);

 private:
  static constexpr std::uint64_t longest_pause = 512;
  static constexpr std::int64_t least_gain = 100;  ///< one in so many

  /// What this rank's schedules have encoded.
  struct Seen {
    std::int64_t bytes = 0;
    std::int64_t saved_bytes = 0;
    std::int64_t codec_ns = 0;
  };
  static Seen seen();

  std::uint64_t calls_ = 0;
  std::uint64_t next_ = 2;  ///< the call after which ranks agree again
  bool pays_ = true;
  bool coded_ = false;   ///< the call under way is
  Seen before_, since_;  ///< before that call; in calls since ranks last agreed
};

}  // namespace antiphon::mpi
