// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compress/comm_being_freed.hpp"

namespace antiphon::mpi {

/// Lasts as long as this thread's call that frees a communicator. An error handler may leave that call by a jump, so
/// nothing points to this object.
class FreeingComm {
 public:
  /// Takes what the call takes; null is the library's to report.
  explicit FreeingComm(const MPI_Comm* comm);
  ~FreeingComm();
  FreeingComm(const FreeingComm&) = delete;
  FreeingComm& operator=(const FreeingComm&) = delete;

 private:
  CommBeingFreed* one_ = nullptr;
};

}  // namespace antiphon::mpi
