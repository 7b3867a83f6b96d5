// SPDX-License-Identifier: Apache-2.0
// What Antiphon keeps with a communicator: what it knows of it, what was decided, and the schedules made for it.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call/neighbours.hpp"
#include "entry/comm_shape.hpp"
#include "entry/compiled_patterns.hpp"
#include "entry/decisions.hpp"
#include "entry/pattern_history.hpp"
#include "entry/prepared_schedule.hpp"
#include "entry/workspace.hpp"
#include "job/world.hpp"
#include "multicast/groups.hpp"
#include "run/exchange.hpp"
#include "run/executor.hpp"

namespace antiphon::mpi {

class CommState : public Staging {
 public:
  /// `shape`: of the communicator; nothing where Antiphon must keep out.
  CommState(MPI_Comm comm, std::optional<CommShape> shape);
  ~CommState();
  CommState(const CommState&) = delete;
  CommState& operator=(const CommState&) = delete;

  /// The state of a communicator, made at its first call. Null where Antiphon must keep out: an intercommunicator, a
  /// single rank, processes of other jobs.
  static CommState* of(MPI_Comm comm);
  static void prepare();
  /// Frees the state of MPI_COMM_WORLD, then the means to keep any.
  static void release();

  [[nodiscard]] const CommShape& shape() const { return shape_; }
  [[nodiscard]] int rank() const { return shape_.rank; }
  [[nodiscard]] int size() const { return shape_.size; }

  /// Numbers persistent operations in the order of their initialisation, which is the same on all ranks.
  unsigned next_operation() {
    world.idle = false;
    return operations_++;
  }
  /// Whether there ever was one; the same on all ranks.
  [[nodiscard]] bool has_operations() const { return operations_ > 0; }

  /// What to use for each collective.
  [[nodiscard]] Decisions& decisions() { return decisions_; }
  [[nodiscard]] const Decisions& decisions() const { return decisions_; }

  /// The call that the last decision was for has been carried out: notes what encoding its messages did, where that is
  /// on trial.
  void carried_out();

  /// Room to describe a call in, kept so that describing the next one allocates nothing. Reset, with the communicator's
  /// part set.
  Problem& blank_problem(Collective collective);
  /// The schedule for this problem (its parameters come from the choice), made if it is not there. Null, on every rank
  /// alike, where the algorithm cannot solve it.
  PreparedSchedule* prepared(const Problem& problem, const Choice& choice);
  /// Where the choice is the credit protocol (which is no schedule): what runs it. Else null. `in_step`: the choice is
  /// rotated phases, which the protocol does by keeping in step.
  Exchange* exchange(const Choice& choice, bool in_step);
  /// For schedules of this communicator. `tag_base` is added to their tags.
  std::unique_ptr<Executor> make_executor(Schedule schedule, int tag_base = 0);
  /// For exchanges in step of a schedule that all ranks have.
  std::unique_ptr<Exchange> make_exchange(int first_tag = Exchange::default_first_tag);
  /// The communicator's multicast groups.
  MulticastGroups& groups();
  /// scatterv, gatherv: the root tells all ranks the sizes of all blocks; by multicast, if that is how the data go.
  int share_counts(Problem& problem, const Choice& choice);
  /// Patterns of this communicator's ranks, with their schedules.
  CompiledPatterns& patterns();
  /// What is known of the pattern of this communicator's Alltoallv.
  PatternHistory& history();

  /// Whether nobody has said what to use for Alltoallv, and so those that are known to be short are the library's.
  [[nodiscard]] bool leaves_short_exchanges() const {
    return history_ && decisions_.override_of(Collective::alltoallv).mode == Override::Mode::automatic;
  }

  /// A neighbour collective as an alltoallw of all ranks; any other call as it is. Null, on every rank alike, where
  /// some rank has a neighbour twice. The first call of this communicator asks all ranks.
  const Call* as_exchange(const Call& call);

  /// The communicator of schedules' messages. Made at the first use, which is the same call on every rank.
  MPI_Comm own_comm();

 private:
  void use_groups(PreparedSchedule& prepared);
  std::unique_ptr<Exchange> make_exchange(const CreditLimits& limits, int first_tag);

  MPI_Comm comm_;
  MPI_Comm own_ = MPI_COMM_NULL;
  bool eligible_;  ///< false where Antiphon must keep out
  CommShape shape_;
  Decisions decisions_;
  Problem problem_;
  std::vector<std::unique_ptr<PreparedSchedule>> prepared_;
  std::unique_ptr<Exchange> exchange_;
  std::optional<CompiledPatterns> patterns_;
  std::unique_ptr<PatternHistory> history_;
  std::unique_ptr<MulticastGroups> groups_;
  std::unique_ptr<Neighbours> neighbours_;
  bool distinct_neighbours_ = false;  ///< on all ranks
  Parameters exchange_parameters_;
  std::uint64_t clock_ = 0;
  unsigned operations_ = 0;
};

}  // namespace antiphon::mpi
