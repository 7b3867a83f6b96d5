// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "world.hpp"

namespace probe {

/// Two ranks that measure together. Where one clock is enough, the first one's is read.
struct Pair {
  int first = 0;
  int second = 0;
};
/// Pairs that share no rank, so that all can measure at the same time.
using Round = std::vector<Pair>;

/// This rank's part in a round.
struct Seat {
  int peer = MPI_PROC_NULL;
  bool is_first = false;
  [[nodiscard]] bool taken() const { return peer != MPI_PROC_NULL; }
};
Seat seat_in(const Round& round, int rank);

/// Times of messages to the partner and back, as the first of a pair sees them.
struct Trips {
  std::vector<double> round_ns;  ///< from before the send to after the reply
  std::vector<double> send_ns;   ///< the part inside MPI_Send: os(m)
};

/// Makes `reps` round trips: m bytes to the partner, `reply_bytes` back. The link rests for `pause_us` before each.
Trips round_trips(World& world, const Seat& seat, std::int64_t bytes, std::int64_t reply_bytes, int reps,
                  int pause_us = 0);

/// Takes one sample of g(m): the first sends `count` messages as fast as it can. The second half is timed, when buffers
/// are full and bursts are over (MPI LogP benchmark: saturation). Both ends time it, and the slower counts, because
/// long messages leave into buffers and short ones arrive in heaps. For few messages the time of all is more
/// informative. Returns one number on the first, else none.
std::vector<double> gap(World& world, const Seat& seat, std::int64_t bytes, int count);

/// Takes `reps` samples of or(m): the message arrives long before it is received (delayed receiver).
std::vector<double> delayed_receives(World& world, const Seat& seat, std::int64_t bytes, int reps, double delay_ns);

/// Bytes per second of one stream of `total_bytes` from the first to the second, in pieces, `window` of them in
/// transit. Measures the last three quarters at the receiving end. Returns one number on the first, else none.
std::vector<double> stream(World& world, const Seat& seat, std::int64_t total_bytes, std::int64_t piece_bytes,
                           int window);

}  // namespace probe
