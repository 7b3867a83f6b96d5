// SPDX-License-Identifier: Apache-2.0
#include "entry/intercept.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "call/describe.hpp"
#include "call/neighbours.hpp"
#include "compress/collectives.hpp"
#include "entry/account.hpp"
#include "entry/aside.hpp"
#include "entry/comm_state.hpp"
#include "entry/device_buffers.hpp"
#include "entry/passed_calls.hpp"
#include "entry/progress_thread.hpp"
#include "entry/workspace.hpp"
#include "job/clock.hpp"
#include "job/limited_time.hpp"
#include "job/progress.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"
#include "observe/summary.hpp"
#include "observe/trace.hpp"
#include "observe/trace_shape.hpp"

namespace antiphon::mpi {

namespace {

/// Ends a call of which the runner says `rc`. Returns an MPI error code.
int end(int rc, const Runner& runner, Workspace& workspace, CommState& state) {
  if (rc != MPI_SUCCESS && runner.any_under_way()) return state.staging().let_go(), rc;
  if (rc == MPI_SUCCESS) rc = workspace.finish();
  state.staging().call_over();
  return rc;
}

/// Runs the credit protocol for any sizes, without knowledge of other ranks' sizes. Returns an MPI error code, or
/// nothing if the library must do this call.
std::optional<int> run_exchange(const Description& d, const Problem& problem, Exchange& exchange, bool in_step,
                                CommState& state) {
  PatternHistory& history = state.history();
  history.before_call(problem, in_step && state.leaves_short_exchanges());
  if (history.leaves_to_library()) return std::nullopt;
  const Way way = history.way(problem, in_step);
  if (history.used() != nullptr) state.decisions().note(d.collective, *history.used());
  Workspace workspace(d, problem, state.staging());
  if (const int rc = workspace.prepare(exchange.scratch_bytes()); rc != MPI_SUCCESS) return rc;
  exchange.prepare(problem, way);
  const int rc = exchange.run(workspace.binding());
  history.after_call(exchange.stalled());
  return end(rc, exchange, workspace, state);
}

/// Closes dynamic groups (paper 1, §4.1), which end with the call that they were made for, and reports groups that
/// could not be opened.
void after_multicasts(PreparedSchedule& prepared, const Choice& choice, CommState& state) {
  if (prepared.groups_for_one_call) {
    for (const auto& members : prepared.executor->schedule().groups()) state.groups().close(members);
    return;
  }
  const std::string* const why = prepared.executor->why_no_groups();
  if (why == nullptr) return;
  if (prepared.without_groups.empty()) prepared.without_groups = choice.to_string() + " without multicast: " + *why;
  state.decisions().note_copy(choice.algorithm->collective, prepared.without_groups);
}

/// Runs the choice's schedule, for which ranks have told each other what they must know.
std::optional<int> run_schedule(const Description& d, const Problem& problem, const Choice& choice, CommState& state) {
  PreparedSchedule* const prepared = state.prepared(problem, choice);
  if (prepared == nullptr) return std::nullopt;
  Workspace workspace(d, prepared->problem, state.staging());
  int rc = workspace.prepare(prepared->executor->scratch_bytes());
  if (rc == MPI_SUCCESS) rc = prepared->executor->run(workspace.binding());
  if (rc == MPI_SUCCESS) state.first_run_over();
  if (rc == MPI_SUCCESS && choice.algorithm->multicasts) after_multicasts(*prepared, choice, state);
  return end(rc, *prepared->executor, workspace, state);
}

/// Leaves the call to the library, and notes that because no decision did.
Outcome leave(Fate fate, Collective collective, CommState& state, Outcome outcome) {
  state.call_over(false);
  state.decisions().note(collective, library_text);
  outcome.fate = fate;
  return outcome;
}

/// Tells whether blocks are still about as short as when all ranks gathered them; the same on every rank.
bool is_as_short(const Problem& p, std::int64_t mean_bytes) {
  constexpr std::int64_t most_times = 4;
  const std::int64_t sum = std::accumulate(p.all_counts->begin(), p.all_counts->end(), std::int64_t{0});
  return sum <= most_times * mean_bytes * p.size * p.size;
}

/// Runs an exchange that all ranks know to be short, with the blocks for each node together, if that is how it is done.
std::optional<int> run_short(const Description& d, Problem& problem, CommState& state, Outcome& outcome) {
  const auto asked = state.short_exchange();
  if (!asked) return std::nullopt;
  state.call_over(false);  // what was decided before ranks knew that it is short
  const Choice& choice = state.decisions().decide(*asked);
  if (choice.algorithm == nullptr) {
    if (state.decisions().times_call()) outcome.timed = &state;
    outcome.fate = Fate::short_exchange;
    return std::nullopt;
  }
  if (!choice.algorithm->levels) return std::nullopt;
  const int rc = state.share_counts(problem, choice);
  if (rc != MPI_SUCCESS) return rc;
  return is_as_short(problem, asked->bytes) ? run_schedule(d, problem, choice, state) : std::nullopt;
}

/// Runs the choice. Returns an MPI error code, or nothing if the algorithm cannot or should not solve this after all
/// and nothing was sent; the outcome says more then.
std::optional<int> run(const Description& d, const Choice& choice, CommState& state, Outcome& outcome) {
  Problem& problem = state.blank_problem(d.collective);
  make_problem(d, problem);
  const bool in_step = state.decisions().rotates(choice);
  Exchange* const exchange = state.exchange(choice, in_step);
  if (exchange == nullptr) {
    int rc = MPI_SUCCESS;
    if (choice.algorithm->knowledge == Knowledge::all_counts) rc = state.share_counts(problem, choice);
    return rc == MPI_SUCCESS ? run_schedule(d, problem, choice, state) : std::optional(rc);
  }
  const std::optional<int> done = run_exchange(d, problem, *exchange, in_step, state);
  if (done) return done;
  const std::optional<int> done_short = run_short(d, problem, state, outcome);
  if (!done_short && outcome.fate != Fate::short_exchange)
    outcome = leave(Fate::short_exchange, d.collective, state, outcome);
  return done_short;
}

/// Runs the choice on copies of what is in a GPU's memory.
std::optional<int> run_near(const Description& d, DeviceBuffers& on_device, const Choice& choice, CommState& state,
                            Outcome& outcome) {
  const int fetched = on_device.fetch();
  // Other ranks count on this one's messages, so the call goes on even if the driver refuses; the error is reported.
  std::optional<int> result = run(d, choice, state, outcome);
  const int put_back = on_device.put_back();
  if (result == MPI_SUCCESS) result = fetched != MPI_SUCCESS ? fetched : put_back;
  return result;
}

/// Returns a neighbour collective as an alltoallw, and any other call as it is; null if the library must do it, and
/// then `outcome` says why.
const Call* as_exchange(const Call& given, CommState& state, Outcome& outcome) {
  if (!has_neighbours(given.form)) return &given;
  // Nothing is looked at if the library performs the call anyway.
  const Choice& choice = state.decisions().decide({.collective = given.collective});
  const Call* const call = choice.algorithm == nullptr ? nullptr : state.as_exchange(given);
  const bool few = call != nullptr && state.leaves_few_neighbours();
  if (call != nullptr && !few) return call;
  state.decisions().note(given.collective, library_text);
  outcome.fate = few ? Fate::few_neighbours : Fate::same_neighbours;
  if (choice.algorithm == nullptr) outcome.fate = Fate::library_chosen;
  outcome.why = choice.algorithm == nullptr ? std::string_view(choice.reason) : "";
  std::vector<std::int64_t> to;
  std::vector<std::int64_t> from;
  if (!summary::enabled() || !bytes_by_rank(given, to, from)) return nullptr;
  outcome.bytes = std::accumulate(to.begin(), to.end(), std::int64_t{0});
  const auto blocks = std::count_if(to.begin(), to.end(), [](std::int64_t bytes) { return bytes > 0; });
  outcome.block_bytes = outcome.bytes / std::max<std::int64_t>(1, blocks);
  return nullptr;
}

struct Sent {
  std::int64_t bytes = 0;
  std::int64_t own_bytes = 0;  ///< of these to itself
};

/// Returns what this rank sends in an alltoallv or alltoallw; nothing if a datatype is invalid.
std::optional<Sent> sent_in(const Call& call, const CommState& state) {
  Sent sent;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int element_bytes = 0;
  for (int i = 0; i < state.size(); ++i) {
    if (call.sendcounts[i] == 0) continue;
    const MPI_Datatype next = has_types(call.form) ? call.sendtypes[i] : call.sendtype;
    if (next == MPI_DATATYPE_NULL) return std::nullopt;
    if (next != type && PMPI_Type_size(next, &element_bytes) != MPI_SUCCESS) return std::nullopt;
    type = next;
    const std::int64_t bytes = call.sendcounts[i] * element_bytes;
    sent.bytes += bytes;
    if (i == state.rank()) sent.own_bytes = bytes;
  }
  return sent;
}

/// Returns the bytes that this rank sends in an alltoallv or alltoallw that all ranks leave to the library because it
/// is short. Such a call must not be looked at closely, because looking would take a noticeable part of its time.
std::optional<std::int64_t> short_exchange_bytes(const Call& call, CommState& state) {
  const bool is_exchange = call.form == Form::plain || call.form == Form::alltoallw;
  if (call.collective != Collective::alltoallv || !is_exchange || call.sendbuf == MPI_IN_PLACE) return std::nullopt;
  if (!state.leaves_short_exchanges() || state.short_exchange()) return std::nullopt;
  const std::optional<Sent> sent = sent_in(call, state);
  if (!sent || !state.history().pass(sent->bytes - sent->own_bytes)) return std::nullopt;
  return sent->bytes;
}

/// Returns what the decision depends on. Exchanges that are alltoallv in other forms share one decision, though their
/// times have little to do with each other, so their ways do not take turns.
Asked asked(const Description& d, bool takes_turns) {
  return {d.collective, d.block_bytes, d.element_bytes, d.commutative, !d.has_gaps(), d.exact, takes_turns};
}

Outcome attempt(const Call& given, CommState& state) {
  Outcome outcome;
  if (const auto bytes = short_exchange_bytes(given, state)) {
    outcome.bytes = *bytes;
    outcome.block_bytes = *bytes / state.size();
    return leave(Fate::short_exchange, given.collective, state, outcome);
  }
  const Call* const call = as_exchange(given, state, outcome);
  if (call == nullptr) return outcome;
  Description d = describe(*call, state.rank(), state.size());
  outcome.bytes = d.own_bytes;
  outcome.why = d.obstacle;
  if (summary::enabled()) outcome.block_bytes = mean_block_bytes(d, has_neighbours(given.form));
  if (!d.schedulable) return leave(Fate::not_schedulable, d.collective, state, outcome);
  if (state.own().refused()) return leave(Fate::no_communicator, d.collective, state, outcome);
  const Choice& choice = state.decisions().decide(asked(d, given.form == Form::plain));
  if (choice.algorithm == nullptr) {
    if (state.decisions().times_call()) outcome.timed = &state;
    passed_calls::remember(d, state);
    outcome.fate = Fate::library_chosen;
    outcome.why = choice.reason;
    return outcome;
  }
  // Elements with gaps between them can be neither encoded nor sent as one run of bytes.
  if ((encodes(choice) || choice.algorithm->multicasts) && d.has_gaps())
    return leave(Fate::gaps, d.collective, state, outcome);
  DeviceBuffers on_device(d);
  if (state.leaves_devices(d.collective, on_device.any()))
    return leave(Fate::device_memory, d.collective, state, outcome);
  const std::optional<int> result = run_near(d, on_device, choice, state, outcome);
  if (!result && outcome.fate == Fate::short_exchange) return outcome;
  if (!result) return leave(Fate::unsolvable, d.collective, state, outcome);
  state.carried_out();
  outcome.fate = Fate::done;
  outcome.result = *result;
  return outcome;
}

/// Reports a call that was done here to the summary, the trace, and, if it failed, the program's error handler.
void account(const Call& call, const CommState& state, Outcome& outcome) {
  const bool failed = outcome.result != MPI_SUCCESS;
  if (summary::enabled()) count(call, outcome, *state.decisions().used(call.collective));
  if (trace::on()) trace::collective(call, outcome.began_s, true, failed);
  if (!failed) return;
  const int handled = PMPI_Comm_call_errhandler(call.comm, outcome.result);
  if (handled != MPI_SUCCESS) outcome.result = handled;
}

/// Looks at a call that nothing is remembered of.
[[gnu::noinline]] Outcome look_at(const Call& call) {
  const double began_s = summary::enabled() || trace::on() ? now_s() : 0;
  Outcome outcome{.fate = Fate::foreign, .began_s = began_s};
  CommState* state = nullptr;
  bool out_of_memory = false;
  try {
    state = CommState::of(call.comm);
    if (state != nullptr) {
      state->agree_on_nonblocking();
      outcome = attempt(call, *state);
    }
    outcome.began_s = began_s;
    if (state != nullptr && summary::enabled()) {
      outcome.name = state->next_call_name(kind_of(call));
      outcome.ranks = state->size();
    }
    if (!outcome.done() && state != nullptr && state->must_not_wait_in_library()) {
      // The library must not wait while other ranks wait for operations started here. Blocking calls do not match
      // nonblocking ones, so this depends on what all ranks did alike, not on what is under way on this rank.
      outcome.result = run_aside(call);
      passed_on(call, outcome);
      outcome.fate = Fate::done;
      return outcome;
    }
  } catch (const NoMoreCommunicators&) {
    // All ranks come here alike, and have sent nothing.
    outcome.fate = Fate::no_communicator;
  } catch (const std::exception& e) {
    // Memory is probably exhausted. Other ranks may already wait for this rank's messages, so the library cannot help.
    warn(kind_name(kind_of(call)) + ": " + e.what());
    out_of_memory = true;
  }
  // The program's error handler may throw, too: what it throws is the program's.
  if (out_of_memory) {
    PMPI_Comm_call_errhandler(call.comm, MPI_ERR_NO_MEM);
    return {.fate = Fate::done, .result = MPI_ERR_NO_MEM};
  }
  if (outcome.done()) account(call, *state, outcome);
  return outcome;
}

}  // namespace

Outcome accelerate(const Call& call) {
  limited_time::note_call();
  if (!world.watches(call.collective) || passed_calls::again(call)) return {};
  return look_at(call);
}

void prepare_neighbours(MPI_Comm comm) {
  if (!world.watches() || comm == MPI_COMM_NULL || !operations_advance_always()) return;
  try {
    CommState* const state = CommState::of(comm);
    if (state == nullptr) return;
    const Asked exchange{.collective = Collective::alltoallv, .waits = false};
    if (state->decisions().decide(exchange).algorithm != nullptr) state->agree_on_neighbours();
  } catch (const std::exception& e) {
    warn(std::string("a new topology: ") + e.what());
  }
}

void passed_on(const Call& call, const Outcome& outcome) {
  if (outcome.fate == Fate::unseen) return;
  if (outcome.bytes > 0) note_messages();
  if (summary::enabled()) count(call, outcome, library_text);
  if (trace::on()) trace::collective(call, outcome.began_s, false, false);
  if (outcome.timed != nullptr) outcome.timed->call_over(true);
}

}  // namespace antiphon::mpi
