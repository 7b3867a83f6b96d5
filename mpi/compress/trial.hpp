// SPDX-License-Identifier: Apache-2.0
// A trial finds out whether it pays to encode a collective's messages. All ranks agree on it, and repeat it ever more
// rarely.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "compress/collectives.hpp"

namespace antiphon::mpi {

/// A CodingTrial belongs to one decision (collective and size) of a communicator. Both sides of a schedule must know
/// whether its messages are encoded, so a rank cannot stop by itself, as it can with messages. All ranks add up what
/// they saw at calls 2, 8, 32, 128 and then every 512th. It is no case of Turns (adapt.hpp): bytes saved and the
/// codec's own time tell after two calls what times of whole calls would after a hundred.
class CodingTrial {
 public:
  /// Starts a call and tells whether to encode it. The answer is the same on every rank, since all count the same
  /// calls.
  bool begin();
  /// Ends that call. `may_wait`, the same on every rank, says that ranks may agree now.
  void end(MPI_Comm own, bool may_wait);

 private:
  static constexpr std::uint64_t longest_pause = 512;
  static constexpr std::int64_t least_gain = 100;  ///< as a divisor: the gain must exceed a hundredth of the wire time

  /// Counts what has come to this rank in frames, and what all coding has taken.
  struct Seen {
    std::int64_t bytes = 0;
    std::int64_t saved_bytes = 0;
    std::int64_t codec_ns = 0;
  };
  static Seen seen();

  std::uint64_t calls_ = 0;
  std::uint64_t next_ = 2;  ///< the call after which ranks agree again
  bool pays_ = true;
  bool coded_ = false;  ///< whether the current call is encoded
  /// Whether the last call was: the first of a row makes plans and finds cold memory, so it says nothing of the others.
  bool follows_ = false;
  Seen before_, since_;  ///< before that call; in the calls since ranks last agreed
};

}  // namespace antiphon::mpi
