// SPDX-License-Identifier: Apache-2.0
#include "job/limited_time.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <ctime>

#include "antiphon/naps.hpp"
#include "job/clock.hpp"
#include "job/progress_hook.hpp"
#include "network/processor_quota.hpp"

namespace antiphon::mpi::limited_time {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

/// It is never destroyed: threads may wait until the process ends.
Naps* naps = nullptr;
std::atomic_flag taken = ATOMIC_FLAG_INIT;

std::string cores_text(double cores) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2g core%s", cores, cores == 1 ? "" : "s");
  return text.data();
}

/// Another thread's look need not count.
void note_look() {
  if (taken.test_and_set(std::memory_order_acquire)) return;
  if (detail::calls.exchange(false, std::memory_order_relaxed)) naps->note_call();
  if (const std::int64_t nap_ns = naps->look(now_ns()); nap_ns > 0) {
    const timespec nap{nap_ns / second_ns, nap_ns % second_ns};
    nanosleep(&nap, nullptr);
    naps->slept(now_ns());
  }
  taken.clear(std::memory_order_release);
}

}  // namespace

std::optional<Fact> start(const std::string& switched_off_by) {
  const auto quota = network::ProcessorQuota::of_this_process();
  if (!quota) return std::nullopt;
  const std::string cores = cores_text(quota->cores()) + " for this rank's control group";
  if (!switched_off_by.empty()) return Fact{"processor time", cores, switched_off_by};
  naps = new Naps([quota = *quota] { return quota.stopped_periods(); });
  detail::note_look = note_look;
  if (progress_hook::available()) progress_hook::tell_of_looks(note_look_in_vain);
  return Fact{"processor time", cores + "; who waits sleeps once it was stopped", "cgroup"};
}

void stop() { detail::note_look = nullptr; }

}  // namespace antiphon::mpi::limited_time
