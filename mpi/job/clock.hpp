// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

namespace antiphon::mpi {

/// Returns the seconds of a monotonic clock.
inline double now_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Returns the nanoseconds of the same clock.
inline std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

/// Returns the processor time of this thread. Wall-clock time would mislead: while another process has the core for a
/// millisecond, a message would seem to cost a hundred times its real cost.
inline std::int64_t processor_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

}  // namespace antiphon::mpi
