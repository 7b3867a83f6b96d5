// SPDX-License-Identifier: Apache-2.0
// Runs the credit protocol (antiphon/credit.hpp) over MPI point-to-point messages.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "antiphon/credit.hpp"
#include "antiphon/problem.hpp"

namespace antiphon::mpi {

/// How a rank goes through an exchange: its steps, and whether it keeps in step as long as it has patience.
struct Way {
  std::span<const ExchangeStep> steps;
  bool in_step = false;
  double patience_s = 0;  ///< at least; by itself an exchange has as much as suits messages of usual length
};

/// Made once for a communicator and used for all its calls of any sizes; allocates only when something grows. Exchanges
/// that are under way at the same time on one communicator need different tags: `first_tag` and the next.
class Exchange {
 public:
  /// Schedules use tags from 0 up on the same communicator; the protocol's messages keep apart from them, so that calls
  /// of which some are run as schedules may follow one another without a pause.
  static constexpr int default_first_tag = 30000;

  Exchange(MPI_Comm comm, int rank, int size, const CreditLimits& limits, double patience_s, bool yield,
           int first_tag = default_first_tag);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// The blocks of `problem` (an alltoallv) between `input` and `output`. Returns an MPI error code.
  int run(const Problem& problem, const std::byte* input, std::byte* output, const Way& way);
  /// The same in steps that do not wait: begin() starts what can be started, and advance() goes on as far as it can.
  /// The problem and the data must stay until done().
  int begin(const Problem& problem, const std::byte* input, std::byte* output, const Way& way);
  int advance();
  [[nodiscard]] bool done() const { return protocol_.done(); }
  /// Whether this rank lost its patience in the last run.
  [[nodiscard]] bool stalled() const { return stalled_; }

 private:
  using Action = CreditExchange::Action;

  int start_all();
  int start(const Action& action);
  void retire(int count);
  void look_at_clock();
  std::int64_t* new_grant();

  /// A request under way, and what it is for.
  struct Owner {
    Action action;
    std::int64_t* grant = nullptr;
  };

  CreditExchange protocol_;
  MPI_Comm comm_;
  int first_tag_;
  double least_patience_s_;
  double patience_s_ = 0;    ///< in step, so long nothing may move
  double idle_since_s_ = 0;  ///< 0: not known, something has moved
  bool stalled_ = false;
  bool yield_;
  const Problem* problem_ = nullptr;
  const std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  /// Densely at the front.
  std::vector<MPI_Request> requests_;
  std::vector<Owner> owners_;
  std::vector<int> completed_;
  std::size_t active_ = 0;
  /// Where grants are read from and arrive: places that do not move.
  std::deque<std::int64_t> grants_;
  std::vector<std::int64_t*> free_grants_;
};

}  // namespace antiphon::mpi
