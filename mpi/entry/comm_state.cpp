// SPDX-License-Identifier: Apache-2.0
#include "entry/comm_state.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "antiphon/credit.hpp"
#include "compress/collectives.hpp"
#include "compress/comm_being_freed.hpp"
#include "entry/before_comm_ends.hpp"
#include "entry/exchange_limits.hpp"
#include "entry/forget_passed.hpp"
#include "entry/operations.hpp"
#include "job/library_traits.hpp"
#include "job/progress.hpp"
#include "multicast/leaving.hpp"
#include "run/group_multicasts.hpp"

namespace antiphon::mpi {

namespace {

int keyval = MPI_KEYVAL_INVALID;
/// A communicator keeps this many schedules, which is enough for a program's inner loop.
constexpr std::size_t most_prepared = 64;

/// States of freed communicators that nonblocking calls or persistent operations still need. They are never destroyed:
/// a program that ends without MPI_Finalize must not call MPI. No MPI function is called while the mutex is held.
auto& abandoned = *new std::vector<std::unique_ptr<CommState>>;
std::mutex abandoned_mutex;

/// The library calls this when a communicator is freed, possibly from its progress inside one of our own calls.
int delete_state(MPI_Comm, int, void* value, void*) {
  std::unique_ptr<CommState> state(static_cast<CommState*>(value));
  passed_calls::forget();
  if (auto* const call = before_comm_ends.load(std::memory_order_acquire)) call();
  state->abandon();
  if (!state->in_use()) return MPI_SUCCESS;
  const std::lock_guard lock(abandoned_mutex);
  abandoned.push_back(std::move(state));
  return MPI_SUCCESS;
}

}  // namespace

void CommState::delete_unused() {
  std::vector<std::unique_ptr<CommState>> over;
  const std::lock_guard lock(abandoned_mutex);
  for (auto& state : abandoned) {
    if (!state->in_use()) over.push_back(std::move(state));
  }
  std::erase(abandoned, nullptr);
}

void CommState::prepare() { PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_state, &keyval, nullptr); }

void CommState::release() {
  if (keyval == MPI_KEYVAL_INVALID) return;
  void* value = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(MPI_COMM_WORLD, keyval, static_cast<void*>(&value), &found);
  if (found != 0) PMPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  PMPI_Comm_free_keyval(&keyval);
  abandoned.clear();
}

CommState* CommState::of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL || CommBeingFreed::find(comm) != nullptr) return nullptr;
  void* value = nullptr;
  int found = 0;
  if (PMPI_Comm_get_attr(comm, keyval, static_cast<void*>(&value), &found) != MPI_SUCCESS) return nullptr;
  if (found == 0) {
    if (ranks_are_threads(comm)) return nullptr;
    delete_unused();
    go_on_leaving();
    auto fresh = std::make_unique<CommState>(comm, shape_of(comm));
    value = fresh.get();
    if (PMPI_Comm_set_attr(comm, keyval, fresh.get()) != MPI_SUCCESS) return nullptr;
    static_cast<void>(fresh.release());  // delete_state() owns it from here on
  }
  auto* state = static_cast<CommState*>(value);
  return state->eligible_ ? state : nullptr;
}

CommState::CommState(MPI_Comm comm, std::optional<CommShape> shape)
    : comm_(comm), own_(comm), eligible_(shape.has_value()), shape_(std::move(shape).value_or(CommShape{})),
      decisions_(
          shape_, comm != MPI_COMM_WORLD, world.overrides, [this] { return groups().work(); },
          [this] { return settled_node_memory() != nullptr; }, own_,
          [this](std::span<char> text) { take_from_first(text); }) {}

CommState::~CommState() {
  nonblocking_.reset();
  history_.reset();
  if (world.active && groups_ && groups_->used()) leave_later(own_.release(), groups_->retire());
}

OperationTags& CommState::tags_of_operations() {
  if (!has_operations_) passed_calls::forget();
  world.idle = false;
  has_operations_ = true;
  return tags_;
}

void CommState::take_from_first(std::span<char> text) {
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Ibcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, existing_comm(), &request);
  for (int done = 0; done == 0;) {
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (operations_under_way()) make_progress();
    // The first rank computes meanwhile, perhaps on the core of others.
    if (done == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void CommState::carried_out() {
  // The library's collectives wait in the library, and there persistent operations that other ranks wait for cannot
  // advance.
  if (CodingTrial* const trial = decisions_.on_trial()) trial->end(own_comm(), !must_not_wait_in_library());
  call_over(true);
}

void CommState::call_over(bool as_chosen) {
  Evidence* const evidence = decisions_.take_timed();
  if (evidence == nullptr || !evidence->end(as_chosen)) return;
  const bool own = own_.exists() || evidence->wants_own_comm();
  if (must_not_wait_in_library()) return evidence->agree(MPI_COMM_NULL, own);
  MPI_Comm where = comm_;
  try {
    if (own) where = own_comm();
  } catch (const NoMoreCommunicators&) {
    return;
  }
  evidence->agree(where, own);
}

void CommState::call_started(const MPI_Request* request) {
  Evidence* const evidence = decisions_.take_timed();
  if (evidence != nullptr && evidence->started(request)) decisions_.note_due(*evidence);
}

void CommState::agree_on_nonblocking() {
  if (!decisions_.has_due()) return;
  for (Evidence* const evidence : decisions_.take_due())
    evidence->agree(must_not_wait_in_library() ? MPI_COMM_NULL : existing_comm(), own_.exists());
  if (!must_not_wait_in_library()) decisions_.ask_model_about_nonblocking();
}

Problem& CommState::blank_problem(Collective collective) {
  Problem& p = problem_;
  p.collective = collective;
  p.rank = rank();
  p.size = size();
  p.root = 0;
  p.bytes = 0;
  p.element_bytes = 1;
  p.commutative = true;
  p.in_place = false;
  p.all_counts = nullptr;
  for (auto* v : {&p.send_bytes, &p.send_offsets, &p.recv_bytes, &p.recv_offsets}) v->clear();
  return p;
}

void CommState::set_places(Problem& problem, const Algorithm& algorithm) const {
  const bool reorders = may_reorder(algorithm, problem.commutative);
  const Places places = reorders && has_root(problem.collective) ? shape_.places(problem.root) : shape_.along;
  if (!reorders && !places.order.empty()) return;
  problem.order = places.order;
  problem.node_sizes = places.node_sizes;
  problem.switch_sizes = places.switch_sizes;
}

PreparedSchedule* CommState::prepared(const Problem& problem, const Choice& choice) {
  for (auto& [bytes, root, last_used, schedule] : prepared_) {
    if (bytes != problem.bytes || root != problem.root || !schedule->serves(problem, choice)) continue;
    last_used = ++clock_;
    return schedule.get();
  }
  std::unique_ptr<PreparedSchedule> fresh = prepare(problem, choice);
  if (fresh == nullptr) return nullptr;
  use_node_memory(*fresh->executor);
  if (prepared_.size() >= most_prepared) {
    prepared_.erase(std::ranges::min_element(prepared_, {}, &Prepared::last_used));
  }
  if (choice.algorithm->multicasts) use_groups(*fresh);
  if (world.connects_late) connections_.open(fresh->executor->schedule(), own_comm());
  prepared_.push_back({problem.bytes, problem.root, ++clock_, std::move(fresh)});
  return prepared_.back().schedule.get();
}

std::unique_ptr<PreparedSchedule> CommState::prepare(const Problem& problem, const Choice& choice, bool judges_alone) {
  auto fresh = std::make_unique<PreparedSchedule>();
  fresh->problem = problem;
  fresh->problem.parameters = choice.parameters;
  fresh->algorithm = choice.algorithm;
  set_places(fresh->problem, *choice.algorithm);
  if (!supports(*choice.algorithm, fresh->problem)) return nullptr;
  fresh->executor = make_executor(build_schedule(*choice.algorithm, fresh->problem), 0, judges_alone);
  return fresh;
}

std::unique_ptr<Executor> CommState::make_executor(Schedule schedule, int tag_base, bool judges_alone) {
  const Executor::Options options{.yields = world.yields,
                                  .tag_base = tag_base,
                                  .coding = coding_terms(judges_alone),
                                  .node_of_rank = &shape_.node_of_rank};
  return std::make_unique<Executor>(std::move(schedule), own_comm(), options);
}

/// Goes on with setting up what the node's ranks share, and tells whether that is over. Own_ exists, and the caller
/// holds the operations' Lock.
bool CommState::node_memory_ready() {
  if (node_memory_) return true;
  const std::string& way = world.settings.shared_memory;
  const std::size_t fetched_bytes = way == "on" ? NodeMemory::usual_fetched_bytes : NodeMemory::never_fetched_bytes;
  if (!setting_up_ && way != "off")
    setting_up_ = std::make_unique<NodeMemorySetUp>(own_comm(), rank(), shape_.node_of_rank, fetched_bytes);
  if (setting_up_ && !setting_up_->advance()) return false;
  node_memory_ = setting_up_ ? setting_up_->take() : nullptr;
  setting_up_.reset();
  return true;
}

NodeMemory* CommState::settled_node_memory() {
  own_comm();
  while (true) {
    {
      const operations::Lock lock;
      if (node_memory_ready()) return node_memory_->get();
    }
    if (operations_under_way()) make_progress();
    sched_yield();
  }
}

void CommState::use_node_memory(Executor& executor) { executor.use_node_memory(settled_node_memory()); }

bool CommState::in_use() const { return holds_ > 0 || (nonblocking_ && nonblocking_->under_way()); }

NonblockingCalls& CommState::nonblocking() {
  if (nonblocking_) return *nonblocking_;
  const auto exchange = [this](const Choice& choice) {
    const bool in_step = choice.algorithm->credit == CreditWay::in_step;
    return make_exchange(choice, in_step, Exchange::default_first_tag, true);
  };
  nonblocking_ = std::make_unique<NonblockingCalls>(NonblockingCalls::Provider{
      .rank = rank(),
      .size = size(),
      .max_ranks_per_node = shape_.max_ranks_per_node,
      .schedule = [this](const Problem& problem, const Choice& choice) { return prepare(problem, choice, true); },
      .node_memory_ready = [this] { return node_memory_ready(); },
      .node_memory = [this] { return node_memory_->get(); },
      .is_exchange = [this](const Choice& choice) { return is_exchange(choice, decisions_.rotates(choice)); },
      .exchange = exchange,
      .comm_for_errors = [this] { return comm_for_errors(); },
  });
  return *nonblocking_;
}

MulticastGroups& CommState::groups() {
  if (!groups_) groups_ = std::make_unique<MulticastGroups>(own_comm(), rank(), shape_.node_of_rank);
  return *groups_;
}

void CommState::use_groups(PreparedSchedule& prepared) {
  std::int64_t senders = 1;
  for (const ParameterValue& p : prepared.problem.parameters) {
    if (p.name == "senders") senders = p.value;
    if (p.name == "members") prepared.groups_for_one_call = p.value == 2;
  }
  mpi::use_groups(*prepared.executor, groups(), static_cast<int>(std::min<std::int64_t>(senders, size())));
}

int CommState::share_counts(Problem& problem, const Choice& choice) {
  if (problem.collective == Collective::alltoallv) return told_counts_.share(problem, collectives(own_comm()));
  if (!choice.algorithm->multicasts) return mpi::share_counts(problem, collectives(own_comm()));
  return mpi::share_counts(problem, [&](std::int64_t* sizes) {
    static const Algorithm* const multicast =
        find_algorithm(Collective::bcast, [](const Algorithm& a) { return a.multicasts; });
    static const Choice bcast{multicast, resolve_parameters(*multicast, {})};
    Problem all{Collective::bcast, rank(), size(), problem.root, static_cast<std::int64_t>(sizeof *sizes) * size()};
    Binding binding;
    binding.base[static_cast<std::size_t>(Space::output)] = reinterpret_cast<std::byte*>(sizes);
    return prepared(all, bcast)->executor->run(binding);
  });
}

std::optional<Asked> CommState::short_exchange() const {
  if (!history_ || shape_.max_ranks_per_node == 1) return std::nullopt;
  const Asked asked{.collective = Collective::alltoallv, .bytes = history_->mean_bytes(), .takes_turns = true};
  return decisions_.nests(asked) ? std::optional(asked) : std::nullopt;
}

CompiledPatterns& CommState::patterns() {
  if (!patterns_) patterns_.emplace(shape_.node_of_rank);
  return *patterns_;
}

PatternHistory& CommState::history() {
  if (!history_) history_ = std::make_unique<PatternHistory>(rank(), size(), patterns(), [this] { return own_comm(); });
  return *history_;
}

bool CommState::knows_neighbours() {
  if (neighbour_facts_) return true;
  if (!neighbours_) neighbours_ = std::make_unique<Neighbours>(comm_);
  neighbour_facts_ = neighbours_->everywhere();
  return neighbour_facts_.has_value();
}

void CommState::agree_on_neighbours() {
  if (knows_neighbours()) return;
  const NeighbourFacts here = neighbours_->here();
  std::array<int, 2> most{here.distinct ? 0 : 1, here.most_sources};
  static_cast<void>(collectives(existing_comm()).greatest(most));
  neighbour_facts_ = {most[0] == 0, most[1]};
}

bool CommState::leaves_few_neighbours() const {
  // With up to 13 neighbours, blocks of 32 to 64 KiB took the library 1.09 to 2.0 times the limit, and an exchange by
  // credit 1.22 to 2.2. Where all 16 ranks send to each other, the library took 1.8 times and the exchange 1.1.
  constexpr int few = 13;
  const bool automatic = decisions_.override_of(Collective::alltoallv).mode == Override::Mode::automatic;
  return automatic && world.plan.patterns.empty() && neighbour_facts_->most_sources <= few;
}

const Call* CommState::as_exchange(const Call& call) {
  if (!has_neighbours(call.form)) return &call;
  agree_on_neighbours();
  return neighbour_facts_->distinct ? neighbours_->spread(call, size()) : nullptr;
}

std::unique_ptr<Exchange> CommState::make_exchange(CreditLimits limits, int first_tag, std::int64_t encode_bytes,
                                                   bool judges_alone) {
  if (judges_alone) limits.short_bytes = std::max(limits.short_bytes, LeftAlone::least_long_bytes);
  // Longer pieces make better frames, and are shorter on the wire.
  if (encode_bytes > 0) limits.piece_bytes = std::min(2 * limits.piece_bytes, limits.sender_bytes);
  const Exchange::Options options{
      .limits = limits,
      .patience_s = StepPatience::usual_s(limits.sender_bytes, world.settings.link_bits_per_s),
      .yields = world.yields,
      .first_tag = first_tag,
      .encode_bytes = encode_bytes,
      .coding = coding_terms(judges_alone),
  };
  return std::make_unique<Exchange>(own_comm(), rank(), size(), options);
}

std::unique_ptr<Exchange> CommState::make_exchange(int first_tag, std::int64_t encode_bytes) {
  constexpr int many_ranks = 4;  // ranks that share a node's port, as in the rules
  CreditLimits limits = credit_limits(credit_choice().parameters);
  if (shape_.max_ranks_per_node >= many_ranks) limits.sender_bytes = limits.piece_bytes;
  return make_exchange(limits, first_tag, encode_bytes, true);
}

bool CommState::is_exchange(const Choice& choice, bool in_step) {
  const Algorithm* const credit = credit_choice().algorithm;
  if (!in_step && choice.algorithm != credit) return false;
  Problem p;
  p.parameters = in_step ? credit_choice().parameters : choice.parameters;
  return supports(*credit, p);  // if not, the schedule reports that it does not either
}

Exchange* CommState::exchange(const Choice& choice, bool in_step) {
  if (!is_exchange(choice, in_step)) return nullptr;
  if (!exchange_ || exchange_parameters_ != choice.parameters) {
    exchange_ = make_exchange(choice, in_step, Exchange::default_first_tag);
    exchange_parameters_ = choice.parameters;
  }
  return exchange_.get();
}

std::unique_ptr<Exchange> CommState::make_exchange(const Choice& choice, bool in_step, int first_tag,
                                                   bool judges_alone) {
  const CreditLimits limits =
      in_step ? in_step_limits(credit_choice().parameters, choice.parameters, size(), ranks_of_fullest_node())
              : credit_limits(choice.parameters);
  return make_exchange(limits, first_tag, encodes(choice) ? choice.parameters.back().value : 0, judges_alone);
}

}  // namespace antiphon::mpi
