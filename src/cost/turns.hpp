// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace antiphon {

/// Ranks that share a core and poll. Each holds the core while it finds something to do, and for `turn_s` if it finds
/// nothing; then the next rank in the ring has its turn. The ring, and not the order of arrival, decides which message
/// is served first: a rank with its next messages already there runs ahead of all others. A rank that sleeps leaves the
/// ring, and comes back as its last.
class CoreTurns {
 public:
  struct Next {
    double time_s = 0;
    int rank = 0;
  };

  /// Takes each rank's core, or nothing where no cores are shared. Rings are in the order of ranks if `order` is 0,
  /// else in a random order with `order` as the seed.
  CoreTurns(std::span<const int> core_of_rank, double turn_s, std::uint32_t order = 0);

  [[nodiscard]] bool shared() const { return !rings_.empty(); }
  [[nodiscard]] double turn_s() const { return turn_s_; }
  [[nodiscard]] bool running(int rank) const { return rings_[ring_of(rank)].running == rank; }
  [[nodiscard]] std::size_t ring_of(int rank) const { return states_[static_cast<std::size_t>(rank)].ring; }
  [[nodiscard]] std::size_t rings() const { return rings_.size(); }

  /// The rank has something to do. If it sleeps, it wakes up.
  void ask(int rank, double now);
  /// Returns the next turn in a ring of a rank that has something to do.
  [[nodiscard]] std::optional<Next> next(std::size_t ring, double now);
  /// The rank has its turn until `end`.
  void begin(int rank, double now);
  void end(int rank, double now);
  /// Ends the turn like `end`; the rank then has no turns until it asks.
  void sleep(int rank, double now);

  /// Interrupts take `seconds` of the rank's core: from a time in which no rank has anything to do, or from the rank
  /// that is running.
  void interrupt(int rank, double seconds, double now);
  /// Returns the time that interrupts took while this rank was running.
  [[nodiscard]] double interrupted_s(int rank);

 private:
  static constexpr int nobody = -1;
  struct Ring {
    std::vector<int> ranks;  ///< that are awake
    std::size_t at = 0;      ///< the place that has its turn from `since` on, if no rank is running
    double since = 0;
    double owed = 0;  ///< the time that interrupts take before anything else goes on
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
