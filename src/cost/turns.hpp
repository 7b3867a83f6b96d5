// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

namespace antiphon {

/// Ranks that share cores and poll: each holds a core for `turn_s` if it finds nothing to do, and for as long as it does find something
/// to do, then the next in the ring has its turn. Who of many messages is served first follows from this, and not from the
/// order in which they came: a rank whose next messages are there already runs ahead of all others.
class Turns {
 public:
  struct Next {
    double time_s = 0;
    int rank = 0;
  };

  /// Every `ranks_on_cores` consecutive ranks share `cores`; 0 cores: nobody shares any.
  Turns(int ranks, int ranks_on_cores, int cores, double turn_s);

  [[nodiscard]] bool shared() const { return !rings_.empty(); }
  [[nodiscard]] double turn_s() const { return turn_s_; }
  [[nodiscard]] bool running(int rank) const { return running_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::size_t ring_of(int rank) const { return static_cast<std::size_t>(rank / ranks_on_cores_); }

  /// The rank has something to do.
  void ask(int rank, double now);
  /// Whose turn is next in a ring, and when.
  [[nodiscard]] std::optional<Next> next(std::size_t ring, double now);
  /// It has its turn, until `end`.
  void begin(int rank, double now);
  void end(int rank, double now);

 private:
  struct Ring {
    int first = 0;       ///< its ranks
    int size = 0;
    int at = 0;          ///< whose turn it is at `since`, if it is not running
    double since = 0;
    int free = 0;        ///< cores on which nobody works
    std::set<int> asking;
  };

  void go_round(Ring& ring, double now) const;

  int ranks_on_cores_;
  double turn_s_;
  std::vector<Ring> rings_;
  std::vector<bool> running_;
};

}  // namespace antiphon
