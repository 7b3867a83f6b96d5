// SPDX-License-Identifier: Apache-2.0
#include "compress/cost.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "compress/framing.hpp"
#include "job/clock.hpp"

namespace antiphon::mpi {

namespace {

constexpr std::int64_t look_every_ns = 100'000'000;
constexpr double most_crowding = 64;
constexpr double counted_crowding = 3;
constexpr double trial_share = 0.005;     ///< of the process' lifetime
constexpr double first_trials_s = 0.005;  ///< allowed in addition, from the start
constexpr double old_share = 0.75;        ///< weight of earlier looks in the known crowding

/// This is the time when this object was loaded, which is when the process started.
const std::int64_t born_ns = now_ns();

std::atomic<double> lost_s{0};

/// Holds how long a thread has run, and waited to run, as the kernel reports it.
struct Turns {
  double run_ns = 0;
  double wait_ns = 0;
};

Turns turns_of_thread() {
  Turns turns;
  if (std::FILE* file = std::fopen("/proc/thread-self/schedstat", "re"); file != nullptr) {
    if (std::fscanf(file, "%lf %lf", &turns.run_ns, &turns.wait_ns) != 2) turns = {};
    std::fclose(file);
  }
  return turns;
}

}  // namespace

double crowding() {
  static std::atomic<double> latest{counted_crowding};  // the worst case, until something is known
  static std::atomic<std::int64_t> next_look_ns{0};
  thread_local Turns before;
  thread_local Turns recent;
  const std::int64_t looked_ns = now_ns();
  if (looked_ns < next_look_ns.load(std::memory_order_relaxed)) return latest.load(std::memory_order_relaxed);
  next_look_ns.store(looked_ns + look_every_ns, std::memory_order_relaxed);
  const Turns now = turns_of_thread();
  if (before.run_ns > 0) {
    recent.run_ns = old_share * recent.run_ns + now.run_ns - before.run_ns;
    recent.wait_ns = old_share * recent.wait_ns + now.wait_ns - before.wait_ns;
  }
  before = now;
  if (recent.run_ns > 0)
    latest.store(std::clamp(1 + recent.wait_ns / recent.run_ns, 1.0, most_crowding), std::memory_order_relaxed);
  if (now.run_ns == 0) latest.store(1, std::memory_order_relaxed);
  return latest.load(std::memory_order_relaxed);
}

double worth_bytes_per_s() {
  return framing_state.always ? framing_state.share_bytes_per_s : worth_bytes_per_s(crowding());
}

double worth_bytes_per_s(double crowding) {
  return framing_state.share_bytes_per_s * std::min(crowding, counted_crowding);
}

bool can_pay(double worth) {
  constexpr std::int64_t some = 1 << 20;
  return 1e9 * some / worth > margin * (encoding_pace.ns_for(some) + decoding_pace.ns_for(some));
}

bool trial_is_allowed() {
  const double life_s = 1e-9 * static_cast<double>(now_ns() - born_ns);
  return lost_s.load(std::memory_order_relaxed) <= first_trials_s + trial_share * life_s;
}

void note_loss(double processor_s) {
  // Ranks that run in step all wait for the one that encodes, and those that share its core encode one after another.
  const double loss_s = crowding() * processor_s;
  double before = lost_s.load(std::memory_order_relaxed);
  while (!lost_s.compare_exchange_weak(before, before + loss_s, std::memory_order_relaxed)) {
  }
}

}  // namespace antiphon::mpi
