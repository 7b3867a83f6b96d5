// SPDX-License-Identifier: Apache-2.0
// These functions switch compression on and off.
#pragma once

namespace antiphon::mpi {

/// Call this after start_world(). It is collective over MPI_COMM_WORLD.
void start_framing();
/// Call this before the end of MPI: it completes what the program has given up and adds up what all ranks did.
void stop_framing();

}  // namespace antiphon::mpi
