// SPDX-License-Identifier: Apache-2.0
// A rank that only waits for others sleeps between looks, so that it takes no turns from those that work.
#pragma once

#include <mpi.h>

namespace antiphon::mpi {

bool is_done(MPI_Request& request);
void wait_asleep(MPI_Request request);

}  // namespace antiphon::mpi
