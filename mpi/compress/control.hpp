// SPDX-License-Identifier: Apache-2.0
// Switches compression on and off.
#pragma once

namespace antiphon::mpi {

/// After start_world(): collective over MPI_COMM_WORLD.
void start_framing();
/// Before the end of MPI: completes what the program has given up and adds up what all ranks did.
void stop_framing();

}  // namespace antiphon::mpi
