// SPDX-License-Identifier: Apache-2.0
// Schedules' messages travel on a communicator of their own, where no receive of the program can match them.
#pragma once

#include <mpi.h>

#include <functional>
#include <utility>

#include "antiphon/error.hpp"

namespace antiphon::mpi {

/// The library can make no more communicators; the same on every rank.
struct NoMoreCommunicators : Error {
  NoMoreCommunicators() : Error("the library can make no more communicators") {}
};

/// Holds that communicator for one of the program's. It is made at the first use, which is the same call on every rank.
class OwnComm {
 public:
  explicit OwnComm(MPI_Comm of) : of_(of) {}
  ~OwnComm();
  OwnComm(const OwnComm&) = delete;
  OwnComm& operator=(const OwnComm&) = delete;

  /// Returns the communicator, and makes it if there is none. Collective. Throws NoMoreCommunicators.
  MPI_Comm get();
  /// Begins to make it, without waiting for other ranks. All ranks do so in the same call. Throws NoMoreCommunicators.
  void begin();
  /// Tells whether get() need not wait, after begin(). The caller holds the operations' Lock.
  bool ready();
  /// Is called when the program frees its communicator, before that is gone.
  void outlive_original();
  /// Hands over the communicator, which exists; the caller frees it. There is none then.
  MPI_Comm release() {
    begun_ = false;
    return std::exchange(own_, MPI_COMM_NULL);
  }
  /// Tells whether it exists or is being made; the same on all ranks.
  [[nodiscard]] bool begun() const { return begun_; }

 private:
  int quietly(const std::function<int()>& create);

  MPI_Comm of_;
  MPI_Comm own_ = MPI_COMM_NULL;
  bool begun_ = false;
  MPI_Request making_ = MPI_REQUEST_NULL;  ///< under the operations' Lock
};

}  // namespace antiphon::mpi
