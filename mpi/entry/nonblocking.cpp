// SPDX-License-Identifier: Apache-2.0
#include "entry/nonblocking.hpp"

#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "call/describe.hpp"
#include "call/owned.hpp"
#include "call/reducible.hpp"
#include "compress/collectives.hpp"
#include "entry/account.hpp"
#include "entry/comm_state.hpp"
#include "entry/device_buffers.hpp"
#include "entry/operations.hpp"
#include "entry/program_request.hpp"
#include "entry/workspace.hpp"
#include "job/clock.hpp"
#include "job/progress_hook.hpp"
#include "job/warn.hpp"
#include "job/world.hpp"
#include "observe/trace.hpp"
#include "observe/trace_shape.hpp"

namespace antiphon::mpi {

namespace {

/// A communicator keeps this many schedules that no call uses.
constexpr std::size_t most_idle_schedules = 64;

}  // namespace

/// One call from its start to its end. Afterwards it serves the next one, with the memory that it has.
class NonblockingCall final : public Operation {
 public:
  explicit NonblockingCall(NonblockingCalls& calls) : calls_(calls) {}

  int begin(const Call& call, const Choice& choice, Problem problem, int tag_base, MPI_Request* request) {
    CommState& state = calls_.state();
    owned_.emplace(call, state.rank(), state.size());
    description_ = describe(owned_->get(), state.rank(), state.size());
    problem_ = std::move(problem);
    choice_ = choice;
    tag_base_ = tag_base;
    runs_ = false;
    rc_ = request_.begin(request);
    if (rc_ != MPI_SUCCESS) return rc_;
    state.own().begin();
    if (state.own().ready()) run();
    operations::start(*this);
    return MPI_SUCCESS;
  }

  bool advance() override {
    if (!runs_) {
      if (!calls_.state().own().ready()) return false;
      run();
    }
    if (rc_ == MPI_SUCCESS) rc_ = runner().advance();
    return rc_ != MPI_SUCCESS || runner().done();
  }

  void complete() override {
    if (rc_ == MPI_SUCCESS) rc_ = workspace_->finish();
    if (rc_ != MPI_SUCCESS) fail();
    workspace_.reset();
    owned_.reset();
    const ProgramRequest request = request_;
    const int rc = rc_;
    // The next call may take this object from here on.
    calls_.put_back(std::move(schedule_), std::move(exchange_), this);
    request.end(rc);
  }

 private:
  [[nodiscard]] Runner& runner() {
    if (exchange_) return *exchange_;
    return *schedule_->executor;
  }

  void fail() {
    PMPI_Comm_call_errhandler(calls_.state().comm_for_errors(), rc_);
    // Messages that are still under way use their memory.
    static_cast<void>(schedule_.release());
    static_cast<void>(exchange_.release());
  }

  /// Makes ready what other ranks need nothing for any more, and starts the first messages.
  void run() {
    runs_ = true;
    try {
      rc_ = prepare();
      if (rc_ == MPI_SUCCESS) rc_ = runner().begin(workspace_->binding());
    } catch (const std::exception& e) {
      warn(kind_name(kind_of(owned_->get())) + ": " + e.what());
      rc_ = MPI_ERR_NO_MEM;
    }
  }

  int prepare() {
    const bool in_step = calls_.state().decisions().rotates(choice_);
    exchange_ = calls_.take_exchange(choice_, in_step);
    if (exchange_) {
      exchange_->use_tags(tag_base_);
      exchange_->prepare(problem_, {});
    } else {
      schedule_ = calls_.take_schedule(problem_, choice_);
      if (schedule_ == nullptr) return MPI_ERR_INTERN;
      schedule_->executor->use_tags(tag_base_);
    }
    workspace_.emplace(description_, exchange_ ? problem_ : schedule_->problem, staging_);
    return workspace_->prepare(runner().scratch_bytes());
  }

  NonblockingCalls& calls_;
  std::optional<OwnedCall> owned_;
  Description description_;
  Problem problem_;
  Choice choice_;
  int tag_base_ = 0;
  Staging staging_;
  std::unique_ptr<PreparedSchedule> schedule_;
  std::unique_ptr<Exchange> exchange_;
  std::optional<Workspace> workspace_;
  ProgramRequest request_;
  bool runs_ = false;  ///< messages may be under way
  int rc_ = MPI_SUCCESS;
};

NonblockingCalls::NonblockingCalls(CommState& state) : state_(state) {}

NonblockingCalls::~NonblockingCalls() = default;

int NonblockingCalls::start(const Call& call, const Choice& choice, Problem problem, int tag_base,
                            MPI_Request* request) {
  const operations::Lock lock;
  if (idle_.empty()) {
    calls_.push_back(std::make_unique<NonblockingCall>(*this));
    idle_.push_back(calls_.back().get());
  }
  NonblockingCall* const one = idle_.back();
  const int rc = one->begin(call, choice, std::move(problem), tag_base, request);
  if (rc != MPI_SUCCESS) return rc;
  std::erase(idle_, one);
  ++under_way_;
  return MPI_SUCCESS;
}

std::unique_ptr<PreparedSchedule> NonblockingCalls::take_schedule(const Problem& problem, const Choice& choice) {
  // The one that ended last is most likely in the cache.
  for (auto one = schedules_.rbegin(); one != schedules_.rend(); ++one) {
    if (!(*one)->serves(problem, choice)) continue;
    std::unique_ptr<PreparedSchedule> taken = std::move(*one);
    schedules_.erase(std::next(one).base());
    return taken;
  }
  return state_.prepare(problem, choice);
}

std::unique_ptr<Exchange> NonblockingCalls::take_exchange(const Choice& choice, bool in_step) {
  if (!state_.is_exchange(choice, in_step)) return nullptr;
  if (exchange_parameters_ != choice.parameters) exchanges_.clear();
  exchange_parameters_ = choice.parameters;
  if (exchanges_.empty()) return state_.make_exchange(choice, in_step, Exchange::default_first_tag);
  std::unique_ptr<Exchange> taken = std::move(exchanges_.back());
  exchanges_.pop_back();
  return taken;
}

void NonblockingCalls::put_back(std::unique_ptr<PreparedSchedule> schedule, std::unique_ptr<Exchange> exchange,
                                NonblockingCall* call) {
  if (schedule) schedules_.push_back(std::move(schedule));
  if (schedules_.size() > most_idle_schedules) schedules_.erase(schedules_.begin());
  if (exchange) exchanges_.push_back(std::move(exchange));
  idle_.push_back(call);
  --under_way_;
}

namespace {

Outcome leave(Fate fate, Outcome outcome) {
  outcome.fate = fate;
  return outcome;
}

/// Decides what does the call, and starts it if that is a schedule. It never waits for other ranks.
Outcome attempt(const Call& given, CommState& state, MPI_Request* request) {
  Outcome outcome;
  if (has_neighbours(given.form) && !state.knows_neighbours()) return leave(Fate::waits_first, outcome);
  const Call* const exchange = state.as_exchange(given);
  if (exchange == nullptr) return leave(Fate::same_neighbours, outcome);
  const Call& call = *exchange;
  const Description d = describe(call, state.rank(), state.size());
  outcome.bytes = d.own_bytes;
  outcome.why = d.obstacle;
  if (summary::enabled()) outcome.block_bytes = mean_block_bytes(d, has_neighbours(given.form));
  if (!d.schedulable) return leave(Fate::not_schedulable, outcome);
  if (is_reduction(d.collective) && !is_predefined(call.op)) return leave(Fate::own_operation, outcome);
  if (d.has_gaps()) return leave(Fate::gaps, outcome);
  if (some_process_may_have_devices()) return leave(Fate::device_memory, outcome);
  if (!progress_hook::available()) return leave(Fate::no_progress, outcome);
  const Choice& choice = state.decisions().decide(
      {d.collective, d.block_bytes, d.element_bytes, d.commutative, true, d.exact, false, /*waits=*/false});
  if (choice.algorithm == nullptr) {
    outcome.why = choice.reason;
    return leave(Fate::library_chosen, outcome);
  }
  if (choice.algorithm->knowledge == Knowledge::all_counts) return leave(Fate::waits_first, outcome);
  if (choice.algorithm->multicasts) return leave(Fate::unsolvable, outcome);
  Problem problem = state.blank_problem(d.collective);
  make_problem(d, problem);
  problem.parameters = choice.parameters;
  state.set_places(problem, *choice.algorithm);
  if (!supports(*choice.algorithm, problem)) return leave(Fate::unsolvable, outcome);
  const std::optional<int> tag_base = state.tags_of_operations().for_nonblocking();
  if (!tag_base) return leave(Fate::unsolvable, outcome);
  outcome.result = state.nonblocking().start(call, choice, std::move(problem), *tag_base, request);
  return leave(Fate::done, outcome);
}

}  // namespace

Outcome start_nonblocking(const Call& call, MPI_Request* request) {
  if (!world.watches()) return {};
  Outcome outcome{.fate = Fate::foreign};
  const double began_s = summary::enabled() || trace::on() ? now_s() : 0;
  try {
    CommState* const state = CommState::of(call.comm);
    if (state == nullptr) return outcome;
    outcome = attempt(call, *state, request);
    outcome.began_s = began_s;
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

}  // namespace antiphon::mpi
