// SPDX-License-Identifier: Apache-2.0
// This state says whether compression of messages is on, and what all ranks agree on about it.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "antiphon/codec.hpp"
#include "compress/codec_speed.hpp"

namespace antiphon::mpi {

struct Framing {
  bool compresses = false;      ///< compression is on: at least the messages of collectives may be encoded
  std::atomic<bool> on{false};  ///< point-to-point messages may be framed
  /// Shorter messages are not encoded; nor are those with more bytes than an int can count.
  std::int64_t least_bytes = 1024;
  /// No frame is shorter, so that receivers look at no shorter message.
  std::int64_t least_frame_bytes = 1024;
  bool always = false;   ///< for tests: every message, also within nodes, whether it pays or not
  bool threads = false;  ///< some process has MPI_THREAD_MULTIPLE
  int most_tag = 32767;
  /// These are the codecs that all ranks have; some codecs need a library, which a node may lack.
  std::uint32_t codecs = codec::built_in_codecs;
  codec::Id codec = codec::Id::automatic;  ///< the only one that is used; automatic: whatever suits
  double share_bytes_per_s = 0;            ///< of a node's link, for each of its ranks
  CodecSpeed speed = usual_codec_speed;    ///< the same on every rank
  double ranks_on_core = 1;                ///< as far as it is known; the same on every rank
  std::string why;  ///< says in words what is encoded, or why nothing is; empty if nobody asked for compression
  MPI_Comm side;    ///< MPI_COMM_WORLD's ranks: for the few bytes that do not fit into a message
};
inline Framing framing_state;

/// Tells whether point-to-point messages may be framed in this job.
inline bool framing() { return framing_state.on.load(std::memory_order_relaxed); }

}  // namespace antiphon::mpi
