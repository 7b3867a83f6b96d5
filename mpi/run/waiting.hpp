// SPDX-License-Identifier: Apache-2.0
// A rank waits in these ways while nothing moves: it looks again, gives its core away, sleeps for packets, or hands the
// thread to the library. All constants of waiting are here.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "job/clock.hpp"
#include "job/limited_time.hpp"
#include "job/progress.hpp"
#include "job/yields.hpp"

namespace antiphon::mpi {

namespace waiting {

/// The library waits best where many messages are under way. For fewer it may keep a core that other ranks need.
inline constexpr std::size_t many_messages = 8;

/// A rank with a core of its own looks this often (about 50 µs) before it sleeps: waking up takes longer than looking.
inline constexpr int looks_on_own_core = 200;
/// On a shared core a rank looks for a few turns, if each look gives the core away: a sleeper wakes up after its next
/// turn would come.
inline constexpr int looks_on_shared_core = 64;
/// A rank has its core to itself if it waits at most a quarter of the time that it runs.
inline constexpr double own_core_crowding = 1.25;

/// A sleep for packets is longer than a tick of the system's clock (often 4 ms): arming an earlier timer costs more
/// than the wake-up itself.
inline constexpr std::int64_t first_sleep_ns = 5'000'000;
/// After a sleep in vain, the rank looks more often, because the packet may wait for something that this rank must do.
inline constexpr std::int64_t later_sleep_ns = 1'000'000;
/// Operations under way beside this one need this thread soon.
inline constexpr std::int64_t sleep_beside_operations_ns = 200'000;

/// A rank in step tolerates for at least this long that nothing moves.
inline constexpr double least_step_patience_s = 1e-3;
/// It tolerates many times the link time of what a rank may be ahead, because a few messages of usual length may lie
/// between.
inline constexpr double step_patience_times = 16;
/// A link of unknown speed (0) counts as this one, so that patience has an end.
inline constexpr std::int64_t slowest_link_bits_per_s = 1'000'000;

}  // namespace waiting

/// Holds the policy for one wait, from its start to its end, with what it has seen since anything moved.
class Waiting {
 public:
  /// Serves a caller that has nothing else to do.
  explicit Waiting(Yields yields) : waits_(true), yields_(yields) {}
  /// Serves callers that only look and never wait.
  static Waiting never() { return {}; }

  /// Tells whether the library may have the thread until this many messages have all ended.
  [[nodiscard]] bool may_block(std::size_t messages) const {
    return waits_ && messages >= waiting::many_messages && !operations_under_way();
  }
  void note_move() {
    looks_ = 0;
    slept_ns_ = 0;
  }
  /// Notes that the library was asked whether something has ended.
  void note_library_look() { asked_library_ = true; }
  /// Lets other operations, and the ranks that share this core, advance because nothing moved.
  void pause() {
    if (operations_under_way()) make_progress();
    const bool library_did = yields_ == Yields::library && std::exchange(asked_library_, false);
    if (yields_ != Yields::nobody && !library_did) sched_yield();
    limited_time::note_look_in_vain();
  }

  /// Returns how long this look for packets may sleep: not at all, because messages are under way too and need this
  /// thread.
  std::int64_t look_beside_messages() {
    ++looks_;
    return 0;
  }
  /// Returns the same if only packets may come. `crowding` is that of this thread's core (compress/cost.hpp).
  std::int64_t look_for_packets(double crowding) {
    const bool sleeps = waits_ && looks_ >= looks_before_sleep(crowding);
    ++looks_;
    if (!sleeps) return 0;
    if (operations_under_way()) return waiting::sleep_beside_operations_ns;
    return slept_ns_ > 0 ? waiting::later_sleep_ns : waiting::first_sleep_ns;
  }
  void note_sleep_in_vain(std::int64_t ns) { slept_ns_ += ns; }
  /// Returns an upper bound of the time slept in vain since anything moved.
  [[nodiscard]] std::int64_t slept_in_vain_ns() const { return slept_ns_; }

 private:
  Waiting() = default;

  [[nodiscard]] int looks_before_sleep(double crowding) const {
    if (crowding <= waiting::own_core_crowding) return waiting::looks_on_own_core;
    return yields_ == Yields::nobody ? 0 : waiting::looks_on_shared_core;
  }

  bool waits_ = false;
  Yields yields_ = Yields::nobody;
  bool asked_library_ = false;  ///< since the last pause
  int looks_ = 0;               ///< for packets, since anything moved
  std::int64_t slept_ns_ = 0;
};

/// Decides how long a rank that keeps in step with others tolerates that nothing moves.
class StepPatience {
 public:
  /// Returns a patience that is long enough if another rank is `ahead_bytes` ahead on such a link.
  static double usual_s(std::int64_t ahead_bytes, std::int64_t link_bits_per_s) {
    const auto bits_per_s = static_cast<double>(std::max(link_bits_per_s, waiting::slowest_link_bits_per_s));
    const double ahead_s = 8 * static_cast<double>(ahead_bytes) / bits_per_s;
    return std::max(waiting::least_step_patience_s, waiting::step_patience_times * ahead_s);
  }

  void begin(double patience_s) {
    patience_s_ = patience_s;
    idle_ = false;
  }
  void note_move() { idle_ = false; }
  /// Notes that nothing has moved; returns whether that lasts too long.
  bool ends() {
    const double now = now_s();
    if (!std::exchange(idle_, true)) idle_since_s_ = now;
    return now - idle_since_s_ > patience_s_;
  }

 private:
  double patience_s_ = 0;
  bool idle_ = false;
  double idle_since_s_ = 0;  ///< if idle_
};

}  // namespace antiphon::mpi
