// SPDX-License-Identifier: Apache-2.0
// Nonblocking collectives run as schedules beside the program: MPI_IX begins the schedule, the library's progress
// advances it, and the request ends when it is done.
//
// The program's request is one of the library's own (program_request.hpp). Starting never waits for other ranks: what a schedule needs from them before it can begin, an
// operation waits for itself.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <vector>

#include "antiphon/problem.hpp"
#include "antiphon/select.hpp"
#include "call/call.hpp"
#include "entry/intercept.hpp"
#include "entry/operation_tags.hpp"
#include "entry/prepared_schedule.hpp"
#include "run/exchange.hpp"

namespace antiphon::mpi {

class CommState;
class NonblockingCall;

/// Starts the call as a schedule if that is the decision. If the call is not done, nothing has been started: the caller
/// calls the library, then passed_on(). Whether it is done is the same on every rank of the communicator.
Outcome start_nonblocking(const Call& call, MPI_Request* request);

/// Holds one communicator's nonblocking calls: those under way, and what ended ones leave for the next.
/// The operations' Lock protects it.
class NonblockingCalls {
 public:
  explicit NonblockingCalls(CommState& state);
  ~NonblockingCalls();
  NonblockingCalls(const NonblockingCalls&) = delete;
  NonblockingCalls& operator=(const NonblockingCalls&) = delete;

  /// Starts a call for which the choice can be used. Returns what the MPI function returns.
  int start(const Call& call, const Choice& choice, Problem problem, int tag_base, MPI_Request* request);

  /// Tells whether a call has not ended; needs no lock.
  [[nodiscard]] bool under_way() const { return under_way_ > 0; }
  [[nodiscard]] CommState& state() { return state_; }
  /// Returns a schedule for this problem and choice that no call uses; null if the algorithm cannot solve it.
  std::unique_ptr<PreparedSchedule> take_schedule(const Problem& problem, const Choice& choice);
  std::unique_ptr<Exchange> take_exchange(const Choice& choice, bool in_step);
  /// Takes back what an ended call no longer uses.
  void put_back(std::unique_ptr<PreparedSchedule> schedule, std::unique_ptr<Exchange> exchange, NonblockingCall* call);

 private:
  CommState& state_;
  std::vector<std::unique_ptr<NonblockingCall>> calls_;
  std::vector<NonblockingCall*> idle_;
  std::vector<std::unique_ptr<PreparedSchedule>> schedules_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  Parameters exchange_parameters_;
  std::atomic<int> under_way_{0};
};

}  // namespace antiphon::mpi
