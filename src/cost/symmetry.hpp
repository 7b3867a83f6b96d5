// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "antiphon/schedule.hpp"

namespace antiphon {

/// A renaming of ranks that leaves a collective unchanged: by addition (mod P), as in rings, or by exclusive or, as in
/// exchanges. The ranks below `period` then stand for all; with period = P every rank stands for itself.
struct Symmetry {
  int ranks = 1;
  int period = 1;
  bool exchange = false;

  /// Returns the distance from one rank to another.
  [[nodiscard]] int distance(int from, int to) const {
    if (exchange) return from ^ to;
    return to >= from ? to - from : to - from + ranks;
  }
  /// Returns the rank below `period` that stands for the one at distance `far` from `rank`.
  [[nodiscard]] int standing_for(int rank, int far) const {
    return exchange ? (rank ^ far) % period
                    : static_cast<int>((static_cast<std::int64_t>(rank) + far) % ranks) % period;
  }
  /// Returns the rank at distance `far` before `to`.
  [[nodiscard]] int before(int to, int far) const {
    if (exchange) return to ^ far;
    return to >= far ? to - far : to - far + ranks;
  }
  [[nodiscard]] bool whole() const { return period == ranks; }

  /// Two ranks that exchange messages, by a rank that stands for one of them and the distance to the other. It is the
  /// same for both directions.
  struct Pair {
    int rank = 0;
    int far = 0;
    bool both_ways = false;  ///< a message of the one direction stands for one of the other direction, too
  };
  [[nodiscard]] Pair pair_of(int from, int to) const {
    const int one = from % period;
    const int other = to % period;
    const int far = distance(from, to);
    const int back = distance(to, from);
    if (far == back) return {one < other ? one : other, far, one == other};
    return far < back ? Pair{one, far} : Pair{other, back};
  }
};

/// Returns the symmetry that schedules have, as far as a sample of ranks shows: renaming leaves the messages' order,
/// peers, lengths and cuts as they are (places in memory and copies may differ). The network repeats after `step`
/// ranks. `root` is the root of a collective that has one. A quick look takes fewer ranks.
Symmetry find_symmetry(const std::function<Schedule(int rank)>& build, int ranks, int step, int root = 0,
                       bool quick = false);

}  // namespace antiphon
