// SPDX-License-Identifier: Apache-2.0
// Where every wrapped call arrives: describe, choose, plan, run; or leave it to the library.
#include <algorithm>
#include <exception>
#include <memory>
#include <numeric>

#include "call/call.hpp"
#include "call/describe.hpp"
#include "compress/collectives.hpp"
#include "entry/comm_state.hpp"
#include "entry/persistent.hpp"
#include "job/world.hpp"
#include "observe/capture.hpp"
#include "observe/summary.hpp"
#include "observe/trace.hpp"
#include "observe/watch.hpp"
#include "topology/placement.hpp"

namespace antiphon::mpi {

namespace {

const std::string library_text = "library";

/// When the call that this thread is now passing on to the library began; for the summary.
thread_local double passed_since_s = 0;
thread_local std::int64_t passed_bytes = 0;

/// The credit protocol: any sizes, nothing known of other ranks'. False: the library is to do this call.
bool run_exchange(const Call& call, const Description& d, const Problem& problem, Exchange& exchange, bool in_step,
                  CommState& state, int& rc) {
  Workspace workspace(call, d, problem, state);
  PatternKnowledge& knowledge = state.knowledge();
  knowledge.before_call(problem);
  if (in_step && knowledge.leaves_to_library() && state.leaves_short_exchanges()) return false;
  const Way way = knowledge.way(problem, in_step);
  if (knowledge.used() != nullptr) state.note(d.collective, *knowledge.used());
  rc = workspace.prepare(0);
  if (rc == MPI_SUCCESS) {
    rc = exchange.run(problem, workspace.input(), workspace.output(), way);
    knowledge.after_call(exchange.stalled());
  }
  if (rc == MPI_SUCCESS) rc = workspace.finish();
  return true;
}

/// Alltoallv in rotated phases, by Antiphon's own choice.
bool rotates(const Choice& choice, const CommState& state) {
  const auto mode = state.override_of(Collective::alltoallv).mode;
  return choice.algorithm->credit == CreditWay::in_step && !encodes(choice) &&
         (mode == Override::Mode::automatic || mode == Override::Mode::own);
}

/// Dynamic groups (paper 1, §4.1) are gone with the call that they were made for; groups that could not be had are told
/// of.
void after_multicasts(Plan& plan, const Choice& choice, CommState& state) {
  if (plan.groups_for_one_call) {
    for (const auto& members : plan.executor->schedule().groups()) state.groups().close(members);
    return;
  }
  const std::string* const why = plan.executor->why_no_groups();
  if (why == nullptr) return;
  if (plan.without_groups.empty()) plan.without_groups = choice.to_string() + " without multicast: " + *why;
  state.note(choice.algorithm->collective, plan.without_groups);
}

/// Runs the schedule. False: the algorithm cannot solve this after all, or should not, and nothing was sent.
bool run(const Call& call, const Description& d, const Choice& choice, CommState& state, int& rc) {
  Problem& problem = state.blank_problem(d.collective);
  make_problem(call, d, state, problem);
  rc = MPI_SUCCESS;
  const bool in_step = rotates(choice, state);
  if (Exchange* const exchange = state.exchange(choice, in_step); exchange != nullptr) {
    return run_exchange(call, d, problem, *exchange, in_step, state, rc);
  }
  if (choice.algorithm->knowledge == Knowledge::all_counts) rc = state.share_counts(problem, choice);
  if (rc != MPI_SUCCESS) return true;
  Plan* plan = state.plan(problem, choice);
  if (plan == nullptr) return false;
  Workspace workspace(call, d, plan->problem, state);
  rc = workspace.prepare(plan->executor->schedule().scratch_bytes());
  if (rc == MPI_SUCCESS) rc = plan->executor->run(workspace.binding());
  if (choice.algorithm->multicasts && rc == MPI_SUCCESS) after_multicasts(*plan, choice, state);
  if (rc == MPI_SUCCESS) rc = workspace.finish();
  return true;
}

bool pass(double began_s, std::int64_t bytes) {
  passed_since_s = began_s;
  passed_bytes = bytes;
  return false;
}

/// What a rank hands in to a neighbour collective that the library does.
std::int64_t bytes_handed_in(const Call& call) {
  std::vector<std::int64_t> to;
  std::vector<std::int64_t> from;
  if (!summary::enabled() || !bytes_by_rank(call, to, from)) return 0;
  return std::accumulate(to.begin(), to.end(), std::int64_t{0});
}

/// A neighbour collective as an alltoallw; any other call as it is. Null: for the library.
const Call* as_exchange(const Call& given, CommState& state) {
  if (!has_neighbours(given.form)) return &given;
  // Nothing is looked at where the library is to do it anyway.
  if (state.decide(given.collective, -1, 1, true, false).algorithm == nullptr) return nullptr;
  const Call* const call = state.as_exchange(given);
  if (call == nullptr) state.note(given.collective, library_text);
  return call;
}

/// An Alltoallv that all ranks leave to the library because it is short: it is not looked at closely, since it would
/// notice.
bool pass_short(const Call& call, CommState& state, double began_s) {
  if (call.collective != Collective::alltoallv || call.form != Form::plain || call.sendbuf == MPI_IN_PLACE ||
      call.sendtype == MPI_DATATYPE_NULL) {
    return false;
  }
  if (!state.leaves_short_exchanges()) return false;
  std::int64_t elements = 0;
  for (int i = 0; i < state.size(); ++i) elements += call.sendcounts[i];
  int bytes = 0;
  if (PMPI_Type_size(call.sendtype, &bytes) != MPI_SUCCESS || !state.knowledge().pass(elements * bytes)) return false;
  state.note(call.collective, library_text);
  pass(began_s, elements * bytes);
  return true;
}

bool try_accelerate(const Call& given, CommState& state, int& result, double began_s) {
  if (pass_short(given, state, began_s)) return false;
  const Call* const exchange = as_exchange(given, state);
  if (exchange == nullptr) return pass(began_s, bytes_handed_in(given));
  const Call& call = *exchange;
  Description d;
  if (!describe(call, state, d)) {
    state.note(call.collective, library_text);
    return pass(began_s, d.own_bytes);
  }
  const Choice& choice = state.decide(d.collective, d.block_bytes, d.element_bytes, d.commutative, !d.has_gaps());
  if (choice.algorithm == nullptr) return pass(began_s, d.own_bytes);
  // Elements with gaps between them can be neither encoded nor sent as one run of bytes.
  if ((encodes(choice) || choice.algorithm->multicasts) && d.has_gaps()) {
    state.note(d.collective, library_text);
    return pass(began_s, d.own_bytes);
  }
  int rc = MPI_SUCCESS;
  if (!run(call, d, choice, state, rc)) {
    state.note(d.collective, library_text);
    return pass(began_s, d.own_bytes);
  }
  state.carried_out();
  if (summary::enabled()) summary::count(kind_of(given), d.own_bytes, now_s() - began_s, *state.used(d.collective));
  if (trace::on()) trace::collective(given, began_s, true, rc != MPI_SUCCESS);
  result = rc == MPI_SUCCESS ? MPI_SUCCESS : PMPI_Comm_call_errhandler(call.comm, rc);
  if (rc != MPI_SUCCESS && result == MPI_SUCCESS) result = rc;
  return true;
}

}  // namespace

int share_counts(Problem& p, MPI_Comm comm) {
  return share_counts(p, [&](std::int64_t* sizes) { return PMPI_Bcast(sizes, p.size, MPI_INT64_T, p.root, comm); });
}

int share_counts(Problem& p, const std::function<int(std::int64_t* sizes)>& tell) {
  auto& sizes = p.collective == Collective::scatterv ? p.send_bytes : p.recv_bytes;
  auto& offsets = p.collective == Collective::scatterv ? p.send_offsets : p.recv_offsets;
  sizes.resize(static_cast<std::size_t>(p.size));
  const int rc = tell(sizes.data());
  if (p.rank != p.root) {
    offsets.resize(sizes.size());
    std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), std::int64_t{0});
  }
  return rc;
}

bool accelerate(const Call& call, int& result) {
  if (!world.watches()) return false;
  const double began_s = summary::enabled() || trace::on() ? now_s() : 0;
  try {
    CommState* const state = CommState::of(call.comm);
    if (state == nullptr) return pass(began_s, 0);
    if (try_accelerate(call, *state, result, began_s)) return true;
    // The library must not wait while others wait for what was started here. Blocking calls do not match nonblocking
    // ones, so this cannot depend on what is under way on this rank, but on what all ranks have done alike.
    if (!state->has_operations() || !persistent::run_aside(call, result)) return false;
    passed_on(call);
    return true;
  } catch (const std::exception& e) {
    // Out of memory, in all likelihood. Others may already be waiting for this rank's messages, so the library cannot
    // help.
    warn(std::string(kind_name(kind_of(call))) + ": " + e.what());
    PMPI_Comm_call_errhandler(call.comm, MPI_ERR_NO_MEM);
    result = MPI_ERR_NO_MEM;
    return true;
  }
}

void passed_on(const Call& call) {
  if (!world.watches()) return;
  if (passed_bytes > 0) note_messages();
  if (summary::enabled()) summary::count(kind_of(call), passed_bytes, now_s() - passed_since_s, library_text);
  if (trace::on()) trace::collective(call, passed_since_s, false, false);
}

void after_init() {
  try {
    start_world();
    if (!world.settings.enabled) return;
    check_placement();
    prepare_datatypes();
    start_capture();
    CommState::prepare();
    trace::start();
    start_framing();
    world.active = true;
  } catch (const std::exception& e) {
    warn(std::string("not active: ") + e.what());
  }
}

void before_finalize() {
  if (!world.active) return;
  stop_multicast();
  if (summary::enabled()) summary::write();
  trace::finish();
  finish_gatherings();
  persistent::release_all();
  world.active = false;
  stop_capture();
  stop_framing();
  CommState::release();
  release_datatypes();
  stop_world();
}

}  // namespace antiphon::mpi
