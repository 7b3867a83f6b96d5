// SPDX-License-Identifier: Apache-2.0
#include "job/wait_asleep.hpp"

#include <ctime>

namespace antiphon::mpi {

bool is_done(MPI_Request& request) {
  int done = 0;
  PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

void wait_asleep(MPI_Request request) {
  constexpr long nap_ns = 200'000;
  while (!is_done(request)) {
    const timespec nap{0, nap_ns};
    nanosleep(&nap, nullptr);
  }
}

}  // namespace antiphon::mpi
