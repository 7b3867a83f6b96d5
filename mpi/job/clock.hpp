// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

namespace antiphon::mpi {

/// Returns the nanoseconds of a monotonic clock.
inline std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

/// Returns the seconds of the same clock.
inline double now_s() { return 1e-9 * static_cast<double>(now_ns()); }

/// Returns the processor time of this thread. Wall-clock time would mislead: while another process has the core for a
/// millisecond, a message would seem to cost a hundred times its real cost.
inline std::int64_t processor_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

}  // namespace antiphon::mpi
