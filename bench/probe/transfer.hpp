// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "world.hpp"

namespace probe {

/// Two ranks that measure together; the first is the one whose clock is read where only one is.
struct Pair {
  int first = 0;
  int second = 0;
};
/// Pairs that share no rank, so that all of them can measure at the same time.
using Round = std::vector<Pair>;

/// This rank's part in a round.
struct Seat {
  int peer = MPI_PROC_NULL;
  bool is_first = false;
  [[nodiscard]] bool taken() const { return peer != MPI_PROC_NULL; }
};
Seat seat_in(const Round& round, int rank);

/// Times of messages there and back, as the first of a pair sees them.
struct Trips {
  std::vector<double> round_ns;  ///< from before the send to after the reply
  std::vector<double> send_ns;   ///< of that, inside MPI_Send: os(m)
};

/// `reps` times: m bytes there, `reply_bytes` back. `pause_us`: the link rests that long before each.
Trips round_trips(World& world, const Seat& seat, std::int64_t bytes, std::int64_t reply_bytes, int reps,
                  int pause_us = 0);

/// One sample of g(m): the first sends `count` messages as fast as it can; the second half of them is timed, when
/// buffers are full and bursts are over (MPI LogP benchmark: saturation), at both ends, of which the slower one counts:
/// long messages leave into buffers, short ones arrive in heaps, of which even the time of all says more. One number on
/// the first, else none.
std::vector<double> gap(World& world, const Seat& seat, std::int64_t bytes, int count);

/// `reps` samples of or(m): the message is there long before it is received (delayed receiver).
std::vector<double> delayed_receives(World& world, const Seat& seat, std::int64_t bytes, int reps, double delay_ns);

/// Bytes per second of one stream of `total_bytes` from the first to the second, in pieces of which `window` are under
/// way. Measured on the last three quarters, where they arrive; one number on the first, else none.
std::vector<double> stream(World& world, const Seat& seat, std::int64_t total_bytes, std::int64_t piece_bytes,
                           int window);

}  // namespace probe
