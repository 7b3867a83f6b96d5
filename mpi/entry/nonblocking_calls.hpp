// SPDX-License-Identifier: Apache-2.0
// One communicator's nonblocking calls: those under way, and what ended ones leave for the next.
#pragma once

#include <mpi.h>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "antiphon/problem.hpp"
#include "antiphon/select.hpp"
#include "antiphon/step_retry.hpp"
#include "call/call.hpp"
#include "entry/prepared_schedule.hpp"
#include "run/exchange.hpp"
#include "run/left_alone.hpp"

namespace antiphon::mpi {

class NonblockingCall;

/// The operations' Lock protects it.
class NonblockingCalls {
 public:
  /// What the communicator provides. Its OwnComm exists.
  struct Provider {
    int rank, size, max_ranks_per_node;
    /// Makes the schedule of a choice for a problem.
    std::function<std::unique_ptr<PreparedSchedule>(const Problem&, const Choice&)> schedule;
    /// Goes on with setting up the memory that ranks of the node share; returns whether that is over.
    std::function<bool()> node_memory_ready;
    /// Returns that memory then; null if they have none, which is alike on all of them.
    std::function<NodeMemory*()> node_memory;
    /// Tells whether the credit protocol carries out the choice of a call that starts now; the same on all ranks.
    std::function<bool(const Choice&)> is_exchange;
    /// Makes what carries out such a choice.
    std::function<std::unique_ptr<Exchange>(const Choice&)> exchange;
    /// Returns a communicator whose error handler hears of errors.
    std::function<MPI_Comm()> comm_for_errors;
  };
  explicit NonblockingCalls(Provider provider);
  ~NonblockingCalls();
  NonblockingCalls(const NonblockingCalls&) = delete;
  NonblockingCalls& operator=(const NonblockingCalls&) = delete;

  /// Starts a call for which the choice can be used. Returns what the MPI function returns.
  int start(const Call& call, const Choice& choice, Problem problem, int tag_base, MPI_Request* request);
  /// Tells whether a call has not ended; needs no lock.
  [[nodiscard]] bool under_way() const { return under_way_ > 0; }

 private:
  friend class NonblockingCall;

  std::unique_ptr<PreparedSchedule> take_schedule(const Problem& problem, const Choice& choice);
  std::unique_ptr<Exchange> take_exchange(const Choice& choice);
  void put_back(std::unique_ptr<PreparedSchedule> schedule, std::unique_ptr<Exchange> exchange, const Choice& choice,
                NonblockingCall* call);

  /// An exchange serves calls of the choice that it was made for, and no others: ranks may end calls in any order.
  struct IdleExchange {
    const Algorithm* algorithm;
    Parameters parameters;
    std::unique_ptr<Exchange> exchange;
  };
  Provider provider_;
  std::vector<std::unique_ptr<NonblockingCall>> calls_;
  std::vector<NonblockingCall*> idle_;
  std::vector<std::unique_ptr<PreparedSchedule>> schedules_;  ///< that no call uses, as those that follow
  std::vector<IdleExchange> exchanges_;
  StepRetry step_retry_;
  LeftAlone left_alone_;
  std::atomic<int> under_way_{0};
};

}  // namespace antiphon::mpi
