// SPDX-License-Identifier: Apache-2.0
// What the executor asks of the preload object, for a program that has the executor in it: no persistent requests to go on
// with, and no compression.
#include <mpi.h>

#include <ctime>

#include "compress/control.hpp"
#include "persistent.hpp"
#include "summary.hpp"

namespace antiphon::mpi {

Framing framing_state;

double now_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

namespace persistent {
void progress() {}
}  // namespace persistent

}  // namespace antiphon::mpi
