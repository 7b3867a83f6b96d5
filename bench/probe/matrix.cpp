// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "experiments.hpp"

namespace probe {

namespace {

/// Splits a round into parts with few pairs; the other pairs sleep meanwhile.
std::vector<Round> parts_of(const Round& round, std::int64_t at_once) {
  std::vector<Round> parts;
  const auto step = static_cast<std::size_t>(at_once > 0 ? at_once : static_cast<std::int64_t>(round.size()));
  for (std::size_t i = 0; i < round.size(); i += step) {
    parts.emplace_back(round.begin() + static_cast<std::ptrdiff_t>(i),
                       round.begin() + static_cast<std::ptrdiff_t>(std::min(i + step, round.size())));
  }
  return parts;
}

/// Returns what the pairs measured as [[first, second, [sample, …]], …].
antiphon::Json by_pair(const Round& round, const std::vector<std::vector<double>>& samples) {
  antiphon::Json rows = antiphon::Json::array();
  for (const Pair& pair : round)
    rows.push_back({pair.first, pair.second, samples[static_cast<std::size_t>(pair.first)]});
  return rows;
}

template <typename Measure>
void run_rounds(World& world, const Task& task, const char* unit, Measure measure) {
  const auto rounds = task.rounds("rounds", world.size());
  const auto at_once = task.number("at_once", 0);
  const Budget budget(task.real("budget", 1e9));
  const auto repeats = task.number("repeat", 1);
  for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
    if (repeat > 0 && world.agree(static_cast<std::int64_t>(budget.left_s() < 0))) break;
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      for (const Round& part : parts_of(rounds[r], at_once)) {
        world.quiet_barrier();
        const auto samples = world.gather(measure(seat_in(part, world.rank())));
        if (!world.is_root()) continue;
        print_line({{"event", "pairs"},
                    {"label", task.text("label", "")},
                    {"round", r},
                    {"rounds", rounds.size()},
                    {"repeat", repeat},
                    {"unit", unit},
                    {"pairs", by_pair(part, samples)}});
      }
    }
  }
}

}  // namespace

/// Measures latency between pairs: round trips of `bytes` (1) each way, `reps` (10) per pair after two that do not
/// count. rounds: which pairs (all); at_once: number of pairs of a round at the same time (all); repeat, budget.
void round_trip_matrix(World& world, const Task& task) {
  const auto bytes = task.number("bytes", 1);
  const auto reps = static_cast<int>(task.number("reps", 10));
  run_rounds(world, task, "round_ns", [&](const Seat& seat) {
    round_trips(world, seat, bytes, bytes, 2, 0);
    return round_trips(world, seat, bytes, bytes, reps, 0).round_ns;
  });
}

/// Measures bandwidth between pairs: streams of `bytes` (262144) in pieces of `piece` (16384), `window` (2) in transit,
/// first forward, then back, so each row has two rates (forward, back) per repetition. rounds, at_once, repeat, budget
/// as above.
void stream_matrix(World& world, const Task& task) {
  const auto bytes = task.number("bytes", 262144);
  const auto piece = task.number("piece", 16384);
  const auto window = static_cast<int>(task.number("window", 2));
  const bool back = task.number("back", 1) != 0;
  run_rounds(world, task, "bytes_per_s", [&](const Seat& seat) {
    auto samples = stream(world, seat, bytes, piece, window);
    if (!back) return samples;
    world.quiet_barrier();
    const auto other = stream(world, {seat.peer, !seat.is_first}, bytes, piece, window);
    // The first of the pair reports, so it gets the second one's results.
    if (seat.taken()) {
      double rate = other.empty() ? 0 : other[0];
      if (seat.is_first) {
        MPI_Recv(&rate, 1, MPI_DOUBLE, seat.peer, 9, world.comm(), MPI_STATUS_IGNORE);
        samples.push_back(rate);
      } else {
        MPI_Send(&rate, 1, MPI_DOUBLE, seat.peer, 9, world.comm());
      }
    }
    return samples;
  });
}

}  // namespace probe
