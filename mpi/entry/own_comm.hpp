// SPDX-License-Identifier: Apache-2.0
// Schedules' messages travel on a communicator of their own, where no receive of the program can match them.
//
// It is never made without waiting: Open MPI makes no other communicator beside one that some ranks have not begun, and
// MPICH never ends one for which it has no context id left.
#pragma once

#include <mpi.h>

#include <atomic>

#include "antiphon/error.hpp"
#include "entry/early_allowance.hpp"

namespace antiphon::mpi {

/// There is no such communicator, and there can be none; the same on every rank.
struct NoMoreCommunicators : Error {
  NoMoreCommunicators() : Error("the library can make no more communicators") {}
};

/// Holds that communicator for one of the program's. It is made with it (early_comms.hpp) or in the first blocking call
/// that needs it, which is the same call on every rank. What follows is the same on every rank, too.
class OwnComm {
 public:
  explicit OwnComm(MPI_Comm of) : of_(of) {}
  ~OwnComm();
  OwnComm(const OwnComm&) = delete;
  OwnComm& operator=(const OwnComm&) = delete;

  /// Returns the communicator, and makes it if there is none. Collective. Throws NoMoreCommunicators, then at each
  /// call.
  MPI_Comm get();
  /// Hands over the communicator, which exists; the caller frees it. There can be none then.
  MPI_Comm release();
  [[nodiscard]] bool exists() const { return state_ == State::made; }
  /// Tells whether get() has returned it.
  [[nodiscard]] bool in_use() const { return exists() && !idle_; }
  /// Tells whether get() would throw, or has thrown.
  [[nodiscard]] bool refused() const { return state_ == State::refused; }

  /// Makes it when the program has just made its communicator out of `from`. Collective over all ranks of `from`.
  void make_early(MPI_Comm from);
  [[nodiscard]] EarlyAllowance& early_allowance() { return early_allowance_; }

 private:
  enum class State { absent, made, refused };

  [[nodiscard]] bool all_may_make() const;
  void take(MPI_Comm made);

  MPI_Comm of_;
  MPI_Comm own_ = MPI_COMM_NULL;
  State state_ = State::absent;
  std::atomic<bool> idle_{false};  ///< made early, and not used yet
  EarlyAllowance early_allowance_;
};

/// Notes that the program duplicates a communicator without waiting.
void note_idup();

}  // namespace antiphon::mpi
