// SPDX-License-Identifier: Apache-2.0
#include "entry/nonblocking.hpp"

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "call/describe.hpp"
#include "call/neighbours.hpp"
#include "entry/account.hpp"
#include "entry/comm_state.hpp"
#include "entry/device_buffers.hpp"
#include "entry/early_allowance.hpp"
#include "entry/intercept.hpp"
#include "entry/passed_calls.hpp"
#include "entry/persistent.hpp"
#include "entry/progress_thread.hpp"
#include "job/clock.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"
#include "observe/trace.hpp"
#include "observe/trace_shape.hpp"

namespace antiphon::mpi {

namespace {

Outcome leave(Fate fate, Outcome outcome) {
  outcome.fate = fate;
  return outcome;
}

/// Returns what the decision depends on. Exchanges that are alltoallv in other forms share one decision, as in blocking
/// calls, so their ways do not take turns.
Asked asked_without_waiting(const Description& d, bool takes_turns) {
  return {d.collective, d.block_bytes, d.element_bytes, d.commutative,   true,
          d.exact,      takes_turns,   /*waits=*/false, /*agrees=*/false};
}

/// Decides what does the call, and starts it if that is a schedule. It never waits for other ranks.
Outcome attempt(const Call& given, CommState& state, MPI_Request* request) {
  Outcome outcome;
  if (has_neighbours(given.form) && !state.knows_neighbours()) return leave(Fate::waits_first, outcome);
  const Call* const exchange = state.as_exchange(given);
  if (exchange == nullptr) return leave(Fate::same_neighbours, outcome);
  if (has_neighbours(given.form) && state.leaves_few_neighbours()) return leave(Fate::few_neighbours, outcome);
  const Call& call = *exchange;
  const Description d = describe(call, state.rank(), state.size());
  outcome.bytes = d.own_bytes;
  outcome.why = d.obstacle;
  if (summary::enabled()) outcome.block_bytes = mean_block_bytes(d, has_neighbours(given.form));
  if (!d.schedulable) return leave(Fate::not_schedulable, outcome);
  // Only the library's messages copy such elements, and within its progress none may be waited for.
  if (d.has_gaps()) return leave(Fate::gaps, outcome);
  if (world.some_may_have_devices) return leave(Fate::device_memory, outcome);
  if (!operations_advance_always()) return leave(Fate::no_progress, outcome);
  const Choice& choice = state.decisions().decide(asked_without_waiting(d, given.form == Form::plain));
  if (choice.algorithm == nullptr) {
    if (state.decisions().times_call()) outcome.timed = &state;
    passed_calls::remember(d, state);
    outcome.why = choice.reason;
    return leave(Fate::library_chosen, outcome);
  }
  if (choice.algorithm->multicasts) return leave(Fate::unsolvable, outcome);
  Problem problem = state.blank_problem(d.collective);
  make_problem(d, problem);
  problem.parameters = choice.parameters;
  state.set_places(problem, *choice.algorithm);
  if (!supports(*choice.algorithm, problem)) return leave(Fate::unsolvable, outcome);
  own_comm_counts.needed_early.store(true, std::memory_order_relaxed);
  if (!state.own().exists()) return leave(Fate::no_communicator, outcome);
  const std::optional<int> tag_base = state.tags_of_operations().for_nonblocking();
  if (!tag_base) return leave(Fate::unsolvable, outcome);
  persistent::wait_beside_nonblocking();
  outcome.result = state.nonblocking().start(call, choice, std::move(problem), *tag_base, request);
  return leave(Fate::done, outcome);
}

}  // namespace

Outcome start_nonblocking(const Call& call, MPI_Request* request) {
  if (!world.watches() || passed_calls::again(call)) return {};
  const double began_s = summary::enabled() || trace::on() ? now_s() : 0;
  Outcome outcome{.fate = Fate::foreign, .began_s = began_s};
  try {
    CommState* const state = CommState::of(call.comm);
    if (state == nullptr) return outcome;
    outcome = attempt(call, *state, request);
    outcome.began_s = began_s;
    if (outcome.timed == nullptr) {
      const bool started = outcome.done() && outcome.result == MPI_SUCCESS;
      state->call_started(started ? request : nullptr);
    }
    if (!outcome.done()) return outcome;
    if (summary::enabled()) count(call, outcome, *state->decisions().used(call.collective));
    if (trace::on()) trace::collective(call, began_s, true, outcome.result != MPI_SUCCESS);
  } catch (const std::exception& e) {
    warn(kind_name(kind_of(call)) + ": " + e.what());
    outcome = {.fate = Fate::done, .result = MPI_ERR_NO_MEM};
  }
  if (outcome.result != MPI_SUCCESS) {
    const int handled = PMPI_Comm_call_errhandler(call.comm, outcome.result);
    if (handled != MPI_SUCCESS) outcome.result = handled;
  }
  return outcome;
}

void left_to_library(const Call& call, const Outcome& outcome, const MPI_Request* request) {
  if (outcome.timed != nullptr) outcome.timed->call_started(request);
  Outcome over = outcome;
  over.timed = nullptr;
  passed_on(call, over);
}

}  // namespace antiphon::mpi
