// SPDX-License-Identifier: Apache-2.0
// With ANTIPHON_PROGRESS=thread, a thread advances operations while the program computes.
#pragma once

namespace antiphon::mpi {

/// Starts the thread if the settings ask for it, the program has MPI_THREAD_MULTIPLE, and every rank's machine has a
/// core for it that no rank uses; says what is missing if not. Collective over MPI_COMM_WORLD.
void start_progress_thread();
/// Ends it; called before the end of MPI.
void stop_progress_thread();

/// Tells whether operations advance beside the library's own calls, through its hook or by the thread; the same on
/// every rank.
bool operations_advance_always();

}  // namespace antiphon::mpi
