// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

namespace antiphon::mpi {

/// Seconds of a monotonic clock.
inline double now_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace antiphon::mpi
