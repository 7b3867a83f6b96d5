// SPDX-License-Identifier: Apache-2.0
// Antiphon keeps this with a communicator: what it knows of it, the decisions, and the schedules for it.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "call/neighbours.hpp"
#include "entry/comm_shape.hpp"
#include "entry/compiled_patterns.hpp"
#include "entry/decisions.hpp"
#include "entry/device_buffers.hpp"
#include "entry/first_connections.hpp"
#include "entry/library_collectives.hpp"
#include "entry/nonblocking_calls.hpp"
#include "entry/operation_tags.hpp"
#include "entry/own_comm.hpp"
#include "entry/pattern_history.hpp"
#include "entry/prepared_schedule.hpp"
#include "entry/progress_thread.hpp"
#include "entry/share_counts.hpp"
#include "entry/workspace.hpp"
#include "job/world.hpp"
#include "multicast/groups.hpp"
#include "observe/arrivals.hpp"
#include "run/exchange.hpp"
#include "run/executor.hpp"
#include "run/node_memory.hpp"
#include "run/node_memory_set_up.hpp"

namespace antiphon::mpi {

class CommState {
 public:
  /// `shape` is the communicator's shape, or nothing if Antiphon must not act.
  CommState(MPI_Comm comm, std::optional<CommShape> shape);
  ~CommState();
  CommState(const CommState&) = delete;
  CommState& operator=(const CommState&) = delete;

  /// Returns the state of a communicator, made at its first call. Returns null if Antiphon must not act: for an
  /// intercommunicator, a single rank, threads as ranks, or processes of other jobs.
  static CommState* of(MPI_Comm comm);
  static void prepare();
  /// Deletes the states of freed communicators that nothing needs any more.
  static void delete_unused();
  /// Frees the state of MPI_COMM_WORLD, then the key under which states are kept.
  static void release();

  [[nodiscard]] const CommShape& shape() const { return shape_; }
  [[nodiscard]] int rank() const { return shape_.rank; }
  [[nodiscard]] int size() const { return shape_.size; }

  /// Returns the memory of the calls that this communicator runs one after the other.
  [[nodiscard]] Staging& staging() { return staging_; }

  /// Returns tags for an operation beside the program's calls. All ranks ask in the same order.
  OperationTags& tags_of_operations();
  /// Tells whether calls must not wait in the library because operations would not advance there; the same on all
  /// ranks.
  [[nodiscard]] bool must_not_wait_in_library() const { return has_operations_ && !operations_advance_always(); }

  /// Returns the decisions on what to use for each collective.
  [[nodiscard]] Decisions& decisions() { return decisions_; }
  [[nodiscard]] const Decisions& decisions() const { return decisions_; }

  /// Numbers the communicator's calls, for the summary; the name is the same on all ranks.
  CallName next_call_name(int kind) {
    if (calls_ == 0) name_ = communicator_name(comm_);
    return call_name(name_, ++calls_, kind);
  }

  /// Notes that the call of the last decision was done here, and records what encoding its messages did, if that is on
  /// trial.
  void carried_out();
  /// Notes that the call of the last decision is over, here or in the library. `as_chosen` says that it went the way
  /// that was chosen; the same on every rank. Ranks agree on the times that they saw if it is time for that.
  void call_over(bool as_chosen);
  /// Notes that the nonblocking call of the last decision has this request; null: it did not go the way that was
  /// chosen.
  void call_started(const MPI_Request* request);
  /// Makes the ranks agree on what nonblocking calls have left open: their times, and what the model says of them.
  /// Collective: all ranks are at the same call, which may wait.
  void agree_on_nonblocking();

  /// Returns room to describe a call in, reset, with the communicator's part set. The room is kept, so that describing
  /// the next call allocates nothing.
  Problem& blank_problem(Collective collective);
  /// Puts the ranks along switches and nodes if the algorithm takes them in any order, and says which places are on one
  /// node and on one switch; alike on every rank.
  void set_places(Problem& problem, const Algorithm& algorithm) const;
  /// Returns the schedule for this problem (its parameters come from the choice), and makes it if necessary. Returns
  /// null, on every rank alike, if the algorithm cannot solve the problem.
  PreparedSchedule* prepared(const Problem& problem, const Choice& choice);
  /// Returns what carries out such a choice by the credit protocol; null if is_exchange() says that it does not.
  Exchange* exchange(const Choice& choice, bool in_step);
  /// Makes an executor for a schedule of this communicator. `tag_base` is added to its tags; `judges_alone` as in
  /// CodingTerms.
  std::unique_ptr<Executor> make_executor(Schedule schedule, int tag_base = 0, bool judges_alone = false);
  /// Makes the executor's messages within the node move through shared memory, where ranks can share it. Collective.
  void use_node_memory(Executor& executor);
  /// Makes an exchange that keeps in step with a schedule that all ranks have. `encode_bytes` as in Exchange::Options;
  /// each rank judges its frames alone.
  std::unique_ptr<Exchange> make_exchange(int first_tag = Exchange::default_first_tag, std::int64_t encode_bytes = 0);
  /// Returns the communicator's multicast groups.
  MulticastGroups& groups();
  /// Makes ranks tell each other the sizes of blocks that schedules depend on; uses multicast if the choice does.
  int share_counts(Problem& problem, const Choice& choice);
  /// Returns the patterns of this communicator's ranks, with their schedules.
  CompiledPatterns& patterns();
  /// Returns what is known of the pattern of this communicator's Alltoallv.
  PatternHistory& history();

  /// Tells whether no override applies to Alltoallv; then calls that are known to be short go to the library.
  [[nodiscard]] bool leaves_short_exchanges() const {
    return history_ && decisions_.override_of(Collective::alltoallv).mode == Override::Mode::automatic;
  }

  /// Returns how short exchanges are to be decided, if blocks for one node may travel together; else nothing. The same
  /// on every rank.
  [[nodiscard]] std::optional<Asked> short_exchange() const;

  /// Tells whether it is known if some rank has a neighbour twice, and how many it has; the same on every rank.
  bool knows_neighbours();
  /// Makes that known. Collective.
  void agree_on_neighbours();
  /// Tells, once that is known, whether calls are the library's because few ranks send to each at once.
  [[nodiscard]] bool leaves_few_neighbours() const;
  /// Returns a neighbour collective as an alltoallw of all ranks, and any other call as it is. Returns null, on every
  /// rank alike, if some rank has a neighbour twice. Collective unless that is known.
  const Call* as_exchange(const Call& call);

  /// Tells whether this call must be left to the library because some rank's buffers are in a GPU's memory, alike on
  /// all ranks; `here` speaks of this rank.
  bool leaves_devices(Collective collective, bool here) {
    return world.some_may_have_devices && devices_.leaves(collective, here, collectives(own_comm()));
  }

  /// Ends what prepared() has begun for a schedule's first run, which is over without an error.
  void first_run_over() { connections_.finish(); }

  /// Returns the communicator of schedules' messages.
  [[nodiscard]] OwnComm& own() { return own_; }
  /// Returns the same for the library's functions. Where there can be none, throws NoMoreCommunicators on all ranks.
  MPI_Comm own_comm() { return own_.get(); }

  /// Makes the schedule for this problem, with the parameters of the choice, ready to run. Returns null, on every rank
  /// alike, if the algorithm cannot solve the problem. `judges_alone` as in CodingTerms.
  std::unique_ptr<PreparedSchedule> prepare(const Problem& problem, const Choice& choice, bool judges_alone = false);
  /// Tells whether the credit protocol (which is not a schedule) carries out the choice. `in_step` says that the choice
  /// is rotated phases, which the protocol performs by keeping in step.
  [[nodiscard]] static bool is_exchange(const Choice& choice, bool in_step);
  /// Makes an exchange for such a choice.
  std::unique_ptr<Exchange> make_exchange(const Choice& choice, bool in_step, int first_tag, bool judges_alone = false);

  /// Returns this communicator's nonblocking calls.
  NonblockingCalls& nonblocking();
  /// Returns the library's collectives on this communicator or the one of its schedules.
  [[nodiscard]] LibraryCollectives collectives(MPI_Comm comm) const { return {comm, must_not_wait_in_library()}; }
  /// Returns a communicator whose error handler hears of errors.
  [[nodiscard]] MPI_Comm comm_for_errors() const { return abandoned_ ? MPI_COMM_WORLD : comm_; }

  /// Keeps the state for a persistent operation, also after the program has freed the communicator.
  class Hold {
   public:
    explicit Hold(CommState& state) : state_(state) { ++state_.holds_; }
    ~Hold() { --state_.holds_; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    CommState& state_;
  };
  /// Tells whether operations need the state.
  [[nodiscard]] bool in_use() const;
  /// Notes that the program has freed the communicator.
  void abandon() { abandoned_ = true; }

 private:
  void take_from_first(std::span<char> text);
  void use_groups(PreparedSchedule& prepared);
  bool node_memory_ready();
  /// Returns what the node's ranks share, or null, as soon as that is settled. Collective at first.
  NodeMemory* settled_node_memory();
  /// `judges_alone` as in CodingTerms: of nonblocking and persistent calls, which the program may leave alone.
  std::unique_ptr<Exchange> make_exchange(CreditLimits limits, int first_tag, std::int64_t encode_bytes,
                                          bool judges_alone);
  /// Returns a communicator for the library's collectives, which exists already: all ranks are at the same call of the
  /// program's communicator, so these cannot be mixed up with calls of its own.
  [[nodiscard]] MPI_Comm existing_comm() { return own_.exists() ? own_.get() : comm_; }

  MPI_Comm comm_;
  OwnComm own_;
  bool eligible_;  ///< false if Antiphon must not act
  CommShape shape_;
  FirstConnections connections_{shape_};
  Decisions decisions_;
  Problem problem_;
  Staging staging_;
  std::unique_ptr<NodeMemorySetUp> setting_up_;             ///< under the operations' Lock, as what follows
  std::optional<std::unique_ptr<NodeMemory>> node_memory_;  ///< empty: not tried yet; the same on all ranks of the node
  /// What tells most of them apart stands beside each, since a program may ask for ever other sizes and roots.
  struct Prepared {
    std::int64_t bytes;
    int root;
    std::uint64_t last_used;
    std::unique_ptr<PreparedSchedule> schedule;
  };
  std::vector<Prepared> prepared_;
  std::unique_ptr<Exchange> exchange_;
  std::optional<CompiledPatterns> patterns_;
  std::unique_ptr<PatternHistory> history_;
  std::unique_ptr<MulticastGroups> groups_;
  std::unique_ptr<Neighbours> neighbours_;
  std::optional<NeighbourFacts> neighbour_facts_;  ///< empty: not known yet
  Parameters exchange_parameters_;
  std::uint64_t clock_ = 0;
  OperationTags tags_{shape_.size};
  bool has_operations_ = false;
  std::atomic<bool> abandoned_{false};
  std::atomic<int> holds_{0};
  std::unique_ptr<NonblockingCalls> nonblocking_;
  DeviceAgreement devices_;
  ToldCounts told_counts_;
  std::uint64_t name_ = 0;   ///< communicator_name(), after the first call that is counted
  std::uint64_t calls_ = 0;  ///< that are counted in the summary
};

}  // namespace antiphon::mpi
