// SPDX-License-Identifier: Apache-2.0
// The delete functions of a communicator's attributes may communicate on it. By then Antiphon's own attributes may be
// gone, and MPICH looks for attributes in a list whose entries it has freed. So none may be looked up on it.
#pragma once

#include <mpi.h>

#include <memory>

namespace antiphon::mpi {

class Messages;

/// Describes a communicator that this thread is freeing.
struct CommBeingFreed {
  MPI_Comm comm;
  std::shared_ptr<Messages> messages;  ///< null: not made yet
  CommBeingFreed* outer;               ///< a delete function may free another communicator

  inline static constinit thread_local CommBeingFreed* innermost [[gnu::tls_model("initial-exec")]] = nullptr;

  /// Returns null unless this thread is freeing that communicator.
  static CommBeingFreed* find(MPI_Comm comm) {
    CommBeingFreed* one = innermost;
    while (one != nullptr && one->comm != comm) one = one->outer;
    return one;
  }
};

}  // namespace antiphon::mpi
