// SPDX-License-Identifier: Apache-2.0
#include "entry/nonblocking_calls.hpp"

#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "call/describe.hpp"
#include "call/owned.hpp"
#include "entry/at_once.hpp"
#include "entry/operations.hpp"
#include "entry/planned_ways.hpp"
#include "entry/program_request.hpp"
#include "entry/share_counts.hpp"
#include "entry/workspace.hpp"
#include "job/clock.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

/// A communicator keeps this many schedules that no call uses, and as many exchanges.
constexpr std::size_t most_idle = 64;

}  // namespace

/// One call from its start to its end. Afterwards it serves the next one, with the memory that it has.
class NonblockingCall final : public Operation {
 public:
  explicit NonblockingCall(NonblockingCalls& calls) : calls_(calls) {}

  int begin(const Call& call, const Choice& choice, Problem problem, int tag_base, MPI_Request* request) {
    NonblockingCalls::Provider& provider = calls_.provider_;
    owned_.emplace(call, provider.rank, provider.size);
    description_ = describe(owned_->get(), provider.rank, provider.size);
    problem_ = std::move(problem);
    choice_ = choice;
    is_exchange_ = provider.is_exchange(choice);
    tag_base_ = tag_base;
    runs_ = false;
    attended_.begin(now_s());
    may_step_ = choice.algorithm->credit == CreditWay::in_step && calls_.step_retry_.begin();
    rc_ = request_.begin(request);
    if (rc_ != MPI_SUCCESS) return rc_;
    if (choice.algorithm->knowledge == Knowledge::all_counts) rc_ = counts_.begin(problem_, call.comm);
    if (rc_ == MPI_SUCCESS && may_run()) run();
    operations::start(*this);
    return MPI_SUCCESS;
  }

  bool advance() override {
    attended_.look(now_s());
    if (!runs_ && rc_ == MPI_SUCCESS) {
      if (!may_run()) return false;
      run();
    }
    if (rc_ == MPI_SUCCESS) rc_ = operations::step(owned_->get(), [this] { return runner().advance(); });
    return rc_ != MPI_SUCCESS || runner().done();
  }

  void complete() override {
    if (rc_ == MPI_SUCCESS) rc_ = workspace_->finish();
    if (rc_ == MPI_SUCCESS) staging_.call_over();
    else fail();
    if (exchange_ && may_step_) calls_.step_retry_.end(exchange_->stalled());
    calls_.left_alone_.note(attended_);
    workspace_.reset();
    owned_.reset();
    ProgramRequest request = request_;
    const int rc = rc_;
    // The next call may take this object from here on.
    calls_.put_back(std::move(schedule_), std::move(exchange_), choice_, this);
    request.end(rc);
  }

 private:
  [[nodiscard]] Runner& runner() {
    if (exchange_) return *exchange_;
    return *schedule_->executor;
  }

  /// Tells whether there is by now what the call needs of other ranks before it begins.
  bool may_run() {
    const NonblockingCalls::Provider& provider = calls_.provider_;
    return counts_.ready(problem_) && provider.node_memory_ready();
  }

  void fail() {
    PMPI_Comm_call_errhandler(calls_.provider_.comm_for_errors(), rc_);
    // Messages that are still under way use their memory.
    static_cast<void>(schedule_.release());
    static_cast<void>(exchange_.release());
    staging_.let_go();
  }

  /// Makes ready what other ranks need nothing for any more, and starts the first messages.
  void run() {
    runs_ = true;
    rc_ = operations::step(owned_->get(), [this] {
      const int rc = prepare();
      return rc == MPI_SUCCESS ? runner().begin(workspace_->binding()) : rc;
    });
  }

  int prepare() {
    if (is_exchange_) {
      exchange_ = calls_.take_exchange(choice_);
      exchange_->use_tags(tag_base_);
      exchange_->set_unattended(calls_.left_alone_.at_once_bytes());
      exchange_->prepare(problem_, way());
    } else {
      const auto port_bytes = port_bytes_at_once(choice_, problem_, calls_.provider_.max_ranks_per_node);
      const bool hurries = port_bytes && *port_bytes <= calls_.left_alone_.at_once_bytes();
      schedule_ = calls_.take_schedule(problem_, hurries ? at_once(choice_) : choice_);
      if (schedule_ == nullptr) return MPI_ERR_INTERN;
      schedule_->executor->use_tags(tag_base_);
      schedule_->executor->use_node_memory(calls_.provider_.node_memory());
    }
    workspace_.emplace(description_, exchange_ ? problem_ : schedule_->problem, staging_);
    return workspace_->prepare(runner().scratch_bytes());
  }

  /// Returns the way through a pattern of the plan that fits. Else a rank goes by its own counts, as nobody may wait to
  /// gather others': in step if they are even, and free if they are not.
  Way way() {
    if (!planned_) planned_.emplace(calls_.provider_.rank, calls_.provider_.size);
    const Way by_itself{{}, may_step_ && has_even_blocks(problem_)};
    if (planned_->empty()) return by_itself;
    const auto [advice, saves_ns] = planned_->find(problem_, true);
    world.plan_use.count_pattern(advice != nullptr && advice->fits(problem_), saves_ns);
    return advice == nullptr ? by_itself : advice->way_for(problem_);
  }

  NonblockingCalls& calls_;
  std::optional<PlannedWays> planned_;
  std::optional<OwnedCall> owned_;
  Description description_;
  Problem problem_;
  SharedCounts counts_;
  Choice choice_;
  bool is_exchange_ = false;  ///< since the call started: the program may ask for other choices before it runs
  LeftAlone::Call attended_;
  int tag_base_ = 0;
  Staging staging_;
  std::unique_ptr<PreparedSchedule> schedule_;
  std::unique_ptr<Exchange> exchange_;
  std::optional<Workspace> workspace_;
  ProgramRequest request_;
  bool runs_ = false;      ///< messages may be under way
  bool may_step_ = false;  ///< of an exchange: ranks may go in step
  int rc_ = MPI_SUCCESS;
};

NonblockingCalls::NonblockingCalls(Provider provider) : provider_(std::move(provider)) {}

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
  return provider_.schedule(problem, choice);
}

std::unique_ptr<Exchange> NonblockingCalls::take_exchange(const Choice& choice) {
  for (auto one = exchanges_.rbegin(); one != exchanges_.rend(); ++one) {
    if (one->algorithm != choice.algorithm || one->parameters != choice.parameters) continue;
    std::unique_ptr<Exchange> taken = std::move(one->exchange);
    exchanges_.erase(std::next(one).base());
    return taken;
  }
  return provider_.exchange(choice);
}

void NonblockingCalls::put_back(std::unique_ptr<PreparedSchedule> schedule, std::unique_ptr<Exchange> exchange,
                                const Choice& choice, NonblockingCall* call) {
  if (schedule) schedules_.push_back(std::move(schedule));
  if (schedules_.size() > most_idle) schedules_.erase(schedules_.begin());
  if (exchange) exchanges_.push_back({choice.algorithm, choice.parameters, std::move(exchange)});
  if (exchanges_.size() > most_idle) exchanges_.erase(exchanges_.begin());
  idle_.push_back(call);
  --under_way_;
}

}  // namespace antiphon::mpi
