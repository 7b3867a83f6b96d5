// SPDX-License-Identifier: Apache-2.0
#include "transfer.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace probe {

namespace {

constexpr int transfer_tag = 7;
constexpr int enough_for_total = 128;

void send(World& world, int peer, std::int64_t bytes) {
  MPI_Send(world.out(bytes), static_cast<int>(bytes), MPI_CHAR, peer, transfer_tag, world.comm());
}

void receive(World& world, int peer, std::int64_t bytes) {
  MPI_Recv(world.in(bytes), static_cast<int>(bytes), MPI_CHAR, peer, transfer_tag, world.comm(), MPI_STATUS_IGNORE);
}

/// Lets time pass without MPI, and without leaving the processor's caches to others longer than needed.
void idle(double delay_ns) {
  constexpr double awake_ns = 1e6;
  const double end = now_ns() + delay_ns;
  if (delay_ns > awake_ns)
    std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<std::int64_t>(delay_ns - awake_ns)));
  while (now_ns() < end) sched_yield();
}

double receive_number(World& world, int peer) {
  double number = 0;
  MPI_Recv(&number, 1, MPI_DOUBLE, peer, transfer_tag, world.comm(), MPI_STATUS_IGNORE);
  return number;
}

void send_number(World& world, int peer, double number) {
  MPI_Send(&number, 1, MPI_DOUBLE, peer, transfer_tag, world.comm());
}

}  // namespace

Seat seat_in(const Round& round, int rank) {
  for (const Pair& pair : round) {
    if (pair.first == rank) return {pair.second, true};
    if (pair.second == rank) return {pair.first, false};
  }
  return {};
}

Trips round_trips(World& world, const Seat& seat, std::int64_t bytes, std::int64_t reply_bytes, int reps,
                  int pause_us) {
  Trips trips;
  for (int i = 0; seat.taken() && i < reps; ++i) {
    if (!seat.is_first) {
      receive(world, seat.peer, bytes);
      send(world, seat.peer, reply_bytes);
      continue;
    }
    if (pause_us > 0) idle(pause_us * 1e3);
    const double start = now_ns();
    send(world, seat.peer, bytes);
    const double sent = now_ns();
    receive(world, seat.peer, reply_bytes);
    trips.round_ns.push_back(now_ns() - start);
    trips.send_ns.push_back(sent - start);
  }
  return trips;
}

std::vector<double> gap(World& world, const Seat& seat, std::int64_t bytes, int count) {
  if (!seat.taken()) return {};
  const int half = count / 2;
  const double start = now_ns();
  double middle = start;
  for (int i = 0; i < count; ++i) {
    if (seat.is_first) {
      send(world, seat.peer, bytes);
    } else {
      receive(world, seat.peer, bytes);
    }
    if (i + 1 == half) middle = now_ns();
  }
  const double own = (now_ns() - middle) / (count - half);
  if (!seat.is_first) {
    send_number(world, seat.peer, own);
    return {};
  }
  const double slower = std::max(own, receive_number(world, seat.peer));
  // The single latency in this time is negligible among many messages.
  return {count < enough_for_total ? slower : std::max(slower, (now_ns() - start) / count)};
}

std::vector<double> delayed_receives(World& world, const Seat& seat, std::int64_t bytes, int reps, double delay_ns) {
  std::vector<double> samples;
  for (int i = 0; seat.taken() && i < reps; ++i) {
    if (!seat.is_first) {
      receive(world, seat.peer, 0);
      send(world, seat.peer, bytes);
      continue;
    }
    send(world, seat.peer, 0);
    idle(delay_ns);
    const double start = now_ns();
    receive(world, seat.peer, bytes);
    samples.push_back(now_ns() - start);
  }
  return samples;
}

std::vector<double> stream(World& world, const Seat& seat, std::int64_t total_bytes, std::int64_t piece_bytes,
                           int window) {
  if (!seat.taken()) return {};
  const auto pieces = static_cast<int>(std::max<std::int64_t>(4, (total_bytes + piece_bytes - 1) / piece_bytes));
  if (seat.is_first) {
    for (int i = 0; i < pieces; ++i) {
      if (i >= window) receive(world, seat.peer, 0);
      send(world, seat.peer, piece_bytes);
    }
    for (int i = 0; i < std::min(window, pieces); ++i) receive(world, seat.peer, 0);
    return {receive_number(world, seat.peer)};
  }
  const int quarter = pieces / 4;
  double start = now_ns();
  for (int i = 0; i < pieces; ++i) {
    receive(world, seat.peer, piece_bytes);
    if (i + 1 == quarter) start = now_ns();
    send(world, seat.peer, 0);
  }
  const double seconds = (now_ns() - start) * 1e-9;
  send_number(world, seat.peer, static_cast<double>(pieces - quarter) * static_cast<double>(piece_bytes) / seconds);
  return {};
}

}  // namespace probe
