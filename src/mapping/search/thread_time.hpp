// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

namespace antiphon::mapping {

/// Processor time of this thread, which budgets count.
inline double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace antiphon::mapping
