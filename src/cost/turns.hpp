// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace antiphon {

/// Ranks that share a core and poll: each holds it for `turn_s` if it finds nothing to do, and for as long as it does
/// find something to do, then the next in the ring has its turn. Who of many messages is served first follows from
/// this, and not from the order in which they came: a rank whose next messages are there already runs ahead of all
/// others. A rank that sleeps leaves the ring, and comes in again as its last.
class Turns {
 public:
  struct Next {
    double time_s = 0;
    int rank = 0;
  };

  /// Each rank's core, from 0 on; none: nobody shares any. They are in their rings by rank, or in an order of chance.
  Turns(std::span<const int> core_of_rank, double turn_s, std::uint32_t order = 0);

  [[nodiscard]] bool shared() const { return !rings_.empty(); }
  [[nodiscard]] double turn_s() const { return turn_s_; }
  [[nodiscard]] bool running(int rank) const { return rings_[ring_of(rank)].running == rank; }
  [[nodiscard]] std::size_t ring_of(int rank) const { return states_[static_cast<std::size_t>(rank)].ring; }
  [[nodiscard]] std::size_t rings() const { return rings_.size(); }

  /// The rank has something to do; who slept is woken up.
  void ask(int rank, double now);
  /// Whose turn is next in a ring, and when.
  [[nodiscard]] std::optional<Next> next(std::size_t ring, double now);
  /// It has its turn, until `end`.
  void begin(int rank, double now);
  void end(int rank, double now);
  /// Instead of `end`: it has no turns any more until it asks.
  void sleep(int rank, double now);

  /// Interrupts take so much of the rank's core: of the time in which nobody has anything to do, or of whoever is
  /// running.
  void interrupt(int rank, double seconds, double now);
  /// What they took while this rank was running.
  [[nodiscard]] double interrupted_s(int rank);

 private:
  static constexpr int nobody = -1;
  struct Ring {
    std::vector<int> ranks;  ///< that are awake
    std::size_t at = 0;      ///< in which place of the ring it is `since`, if nobody is running
    double since = 0;
    double owed = 0;  ///< to interrupts: before anything else goes on
    int running = nobody;
  };
  struct State {
    std::size_t ring = 0;
    bool asks = false;
    bool sleeps = false;
  };

  void go_round(Ring& ring, double now) const;
  [[nodiscard]] static std::size_t place_of(const Ring& ring, int rank);

  double turn_s_;
  std::vector<Ring> rings_;
  std::vector<State> states_;  ///< by rank
};

}  // namespace antiphon
