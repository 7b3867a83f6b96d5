// SPDX-License-Identifier: Apache-2.0
// These functions start and stop all rooms in their order, at MPI_Init and MPI_Finalize.
#pragma once

namespace antiphon::mpi {

/// Tells the ranks of the job that this one takes part; called before the library's MPI_Init(_thread).
void before_init();
/// Communicators that come from sessions are the library's. Called before the library's MPI_Session_init.
void before_session();
/// Reads the settings and distributes them; called after the program's MPI_Init(_thread) has succeeded.
void after_init();

/// Lasts as long as the library's MPI_Finalize. The summary is written, and all state freed, in there, after what the
/// program does by attributes of MPI_COMM_SELF.
class Finalizing {
 public:
  Finalizing();
  /// The library has left MPI_Finalize, with an error or without: what takes time keeps no other rank waiting here.
  ~Finalizing();
  Finalizing(const Finalizing&) = delete;
  Finalizing& operator=(const Finalizing&) = delete;
};

}  // namespace antiphon::mpi
