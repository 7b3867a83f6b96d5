// SPDX-License-Identifier: Apache-2.0
#include "entry/persistent.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "antiphon/advice.hpp"
#include "antiphon/error.hpp"
#include "antiphon/known_patterns.hpp"
#include "call/describe.hpp"
#include "call/owned.hpp"
#include "compress/collectives.hpp"
#include "entry/at_once.hpp"
#include "entry/comm_state.hpp"
#include "entry/device_buffers.hpp"
#include "entry/operations.hpp"
#include "entry/program_request.hpp"
#include "entry/share_counts.hpp"
#include "entry/waits.hpp"
#include "entry/workspace.hpp"
#include "job/clock.hpp"
#include "job/progress.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"
#include "observe/watch.hpp"
#include "run/exchange.hpp"
#include "run/left_alone.hpp"

namespace antiphon::mpi::persistent {

namespace {

/// Above this many ranks, scheduling a pattern takes longer than users expect of an init call.
constexpr int most_ranks_to_compile = 256;

struct PersistentCall final : Operation {
  CommState::Hold state_stays;  ///< as what follows uses it
  CommState& state;
  OwnedCall owned;
  const Call& call;
  Description description;
  Problem problem;
  Staging staging;
  std::unique_ptr<Advice> advice;  ///< of an exchange if all ranks know the pattern
  std::unique_ptr<Runner> runner;
  Exchange* exchange = nullptr;         ///< the runner, if it is one
  std::unique_ptr<Executor> hurried;    ///< in the runner's place where the operation is left alone, if one serves
  std::int64_t hurried_port_bytes = 0;  ///< what that brings into a node's port at once
  Runner* running = nullptr;            ///< of the operation under way, or the last one
  LeftAlone left_alone;
  LeftAlone::Call attended;
  std::unique_ptr<DeviceBuffers> on_device;
  std::unique_ptr<Workspace> workspace;
  ProgramRequest request;
  bool active = false;
  bool orphan = false;  ///< freed while it was active
  int rc = MPI_SUCCESS;

  PersistentCall(const Call& given, CommState& on)
      : state_stays(on), state(on), owned(given, on.rank(), on.size()), call(owned.get()) {}
  ~PersistentCall() override { request.free(); }

  void begin();
  bool advance() override;
  void complete() override;
};

/// The operations' Lock protects all that follows. These are never destroyed: a program that ends without MPI_Finalize
/// leaves them to the system, and must not call MPI.
auto& operations = *new std::unordered_map<std::uintptr_t, std::unique_ptr<PersistentCall>>;
auto& orphans = *new std::vector<std::unique_ptr<PersistentCall>>;
int existing = 0;                 ///< requests that the program has not freed
bool beside_nonblocking = false;  ///< some nonblocking call became a schedule

std::uintptr_t key_of(MPI_Request request) {
  std::uintptr_t key = 0;
  static_assert(sizeof request <= sizeof key);
  std::memcpy(&key, &request, sizeof request);
  return key;
}

PersistentCall* find(MPI_Request request) {
  const auto found = operations.find(key_of(request));
  return found == operations.end() ? nullptr : found->second.get();
}

/// Gathers all ranks' counts: MPI_Alltoallv_init is level 1 of paper 1 (§4.2), with the control out of the loop.
Pattern gather_pattern(const Problem& p, const LibraryCollectives& library) {
  std::vector<std::int64_t> table(static_cast<std::size_t>(p.size) * static_cast<std::size_t>(p.size));
  if (library.gather(p.send_bytes, table.data()) != MPI_SUCCESS) throw Error("the counts cannot be gathered");
  return Pattern::of_counts(p.size, table);
}

/// Tells whether an exchange may be done here instead of by the library; the same on every rank.
bool may_compile(const Call& call, CommState& state, bool always) {
  return always || state.decisions().decide({.collective = call.collective}).algorithm != nullptr;
}

/// Makes the choice's schedule, and a second one for an operation that is left alone if that can gain.
void make_schedules(PersistentCall& op, const Choice& choice, int tag_base) {
  CommState& state = op.state;
  const auto executor_of = [&](const Choice& way) {
    op.problem.parameters = way.parameters;
    auto executor = state.make_executor(build_schedule(*way.algorithm, op.problem), tag_base, true);
    state.use_node_memory(*executor);
    return executor;
  };
  if (const auto bytes = port_bytes_at_once(choice, op.problem, state.shape().max_ranks_per_node);
      bytes && *bytes <= LeftAlone::most_at_once_bytes) {
    op.hurried = executor_of(at_once(choice));
    op.hurried_port_bytes = *bytes;
  }
  op.runner = executor_of(choice);
}

/// Plans the operation. Returns false, on every rank alike, if the library must do it.
bool plan(PersistentCall& op, bool always) {
  CommState& state = op.state;
  const Description& d = op.description;
  // Only the library's messages copy such elements, and within its progress none may be waited for.
  if (d.has_gaps()) return false;
  const Choice& choice = state.decisions().decide(
      {d.collective, d.block_bytes, d.element_bytes, d.commutative, true, d.exact, false, true, /*agrees=*/false});
  const bool compiles = d.collective == Collective::alltoallv && state.size() <= most_ranks_to_compile;
  const bool automatic = !always && state.decisions().override_of(d.collective).mode == Override::Mode::automatic;
  if (choice.algorithm == nullptr && !(always && compiles)) return false;
  // Messages to a group match by their number, so operations that are under way at the same time cannot share a group.
  if (choice.algorithm != nullptr && choice.algorithm->multicasts) return false;
  op.problem = state.blank_problem(d.collective);
  make_problem(d, op.problem);
  Pattern pattern;
  if (compiles) {
    pattern = gather_pattern(op.problem, state.collectives(state.own_comm()));
    if (automatic && is_short(pattern, state.patterns().fabric())) return false;
  }
  const std::optional<int> tag_base = state.tags_of_operations().for_persistent();
  if (!tag_base) return false;
  if (compiles) {
    op.advice = std::make_unique<Advice>(state.patterns().of(pattern), state.rank());
    auto exchange = state.make_exchange(*tag_base, encodes(choice) ? choice.parameters.back().value : 0);
    exchange->prepare(op.problem, op.advice->way());
    op.exchange = exchange.get();
    op.runner = std::move(exchange);
    return true;
  }
  op.problem.parameters = choice.parameters;
  state.set_places(op.problem, *choice.algorithm);
  if (!supports(*choice.algorithm, op.problem)) return false;
  if (choice.algorithm->knowledge == Knowledge::all_counts)
    share_counts(op.problem, state.collectives(state.own_comm()));
  make_schedules(op, choice, *tag_base);
  return true;
}

/// Tells whether some rank's buffers are in a GPU's memory; the library moves such data.
bool on_devices(Description& d, CommState& state) {
  return world.some_may_have_devices && any_rank_has(DeviceBuffers(d).any(), state.collectives(state.own_comm()));
}

void PersistentCall::begin() {
  active = true;
  attended.begin(now_s());
  if (exchange != nullptr) exchange->set_unattended(left_alone.at_once_bytes());
  const bool hurries = hurried && hurried_port_bytes <= left_alone.at_once_bytes();
  running = hurries ? hurried.get() : runner.get();
  rc = operations::step(call, [this] {
    on_device = std::make_unique<DeviceBuffers>(description);
    int begun = on_device->fetch();
    workspace = std::make_unique<Workspace>(description, problem, staging);
    if (begun == MPI_SUCCESS) begun = workspace->prepare(running->scratch_bytes());
    return begun == MPI_SUCCESS ? running->begin(workspace->binding()) : begun;
  });
  operations::start(*this);
}

bool PersistentCall::advance() {
  attended.look(now_s());
  if (rc == MPI_SUCCESS) rc = operations::step(call, [this] { return running->advance(); });
  return rc != MPI_SUCCESS || running->done();
}

/// A wait for the request finds it complete after this.
void PersistentCall::complete() {
  left_alone.note(attended);
  if (rc == MPI_SUCCESS) rc = workspace->finish();
  else if (running->any_under_way()) staging.let_go();
  if (const int put_back = on_device ? on_device->put_back() : MPI_SUCCESS; rc == MPI_SUCCESS) rc = put_back;
  if (rc != MPI_SUCCESS) PMPI_Comm_call_errhandler(state.comm_for_errors(), rc);
  active = false;
  request.end(rc);
  if (orphan) std::erase_if(orphans, [&](const auto& one) { return one.get() == this; });
}

bool handle(const P2pCall& c, int& result);

/// Sees calls on requests and messages while they concern operations, and no longer.
void choose_handler() {
  set_p2p_handler(WatchReason::operations, existing > 0 || beside_nonblocking ? handle : nullptr);
}

void free_request(MPI_Request request) {
  const operations::Lock lock;
  const auto found = operations.find(key_of(request));
  if (found == operations.end()) return;
  // MPI requires that an active operation still completes.
  if (found->second->active) {
    found->second->orphan = true;
    orphans.push_back(std::move(found->second));
  }
  operations.erase(found);
  --existing;
  choose_handler();
}

/// Sees calls on requests and messages before the library does (P2pHandler).
bool handle(const P2pCall& c, int& result) {
  switch (c.call) {
    case P2p::start:
    case P2p::startall: {
      const operations::Lock lock;
      for (int i = 0; i < c.request_count; ++i) {
        if (PersistentCall* const op = find(c.requests[i]); op != nullptr && !op->active) op->begin();
      }
      return false;  // the library starts the request itself
    }
    case P2p::request_free: free_request(*c.requests); return false;
    default: break;
  }
  if (!operations_under_way()) return false;
  if (wait_for_requests(c, result) || wait_for_message(c, result)) return true;
  operations::advance_all();
  return false;
}

}  // namespace

bool init(const Call& call, MPI_Request* request, int& result, bool always) {
  if (!world.active.load(std::memory_order_relaxed) || !world.restarts_requests) return false;
  CommState* const state = CommState::of(call.comm);
  if (state == nullptr) return false;
  try {
    const Call* const exchange =
        has_neighbours(call.form) && !may_compile(call, *state, always) ? nullptr : state->as_exchange(call);
    if (exchange == nullptr) return false;
    auto op = std::make_unique<PersistentCall>(*exchange, *state);
    op->description = describe(op->call, state->rank(), state->size());
    if (!op->description.schedulable || (!always && on_devices(op->description, *state))) return false;
    if (!plan(*op, always)) return false;
    const operations::Lock lock;
    result = op->request.init(request);
    if (result != MPI_SUCCESS) return true;
    operations[key_of(*request)] = std::move(op);
    ++existing;
    choose_handler();
  } catch (const NoMoreCommunicators&) {
    return false;
  } catch (const std::exception& e) {
    warn(kind_name(kind_of(call)) + "_init: " + e.what());
    result = PMPI_Comm_call_errhandler(call.comm, MPI_ERR_NO_MEM);
    if (result == MPI_SUCCESS) result = MPI_ERR_NO_MEM;
  }
  return true;
}

void wait_beside_nonblocking() {
  const operations::Lock lock;
  if (std::exchange(beside_nonblocking, true)) return;
  choose_handler();
}

void release_all() {
  const operations::Lock lock;
  beside_nonblocking = false;
  operations.clear();
  orphans.clear();
  existing = 0;
  set_p2p_handler(WatchReason::operations, nullptr);
}

}  // namespace antiphon::mpi::persistent
