// SPDX-License-Identifier: Apache-2.0
#include "entry/pattern_history.hpp"

#include <mutex>
#include <span>

#include "entry/waits.hpp"
#include "job/progress.hpp"

namespace antiphon::mpi {

namespace {

const std::string by_plan = "credit as planned";
const std::string not_as_planned = "credit not as planned";
const std::string by_pattern = "credit with a known pattern";
const std::string by_steps = "credit in step";

/// With more ranks, the schedulers take longer than they can save, and so does the gathering.
constexpr int most_ranks_to_gather = 64;

/// These have a gathering under way.
std::mutex unfinished_mutex;
std::vector<PatternHistory*> unfinished;

}  // namespace

PatternHistory::PatternHistory(int rank, int size, CompiledPatterns& patterns, std::function<MPI_Comm()> own_comm)
    : size_(size), patterns_(patterns), own_comm_(std::move(own_comm)), known_(rank, size, patterns.fabric()),
      planned_(rank, size) {}

void PatternHistory::before_call(const Problem& p) {
  used_ = nullptr;
  known_.begin_call();
  // A plan that fits makes gathering needless. No rank knows whether it fits everywhere, so with a plan no rank
  // gathers.
  if (!planned_.empty() || size_ > most_ranks_to_gather) return;
  if (finish_gathering()) known_.take_in(rows_);
  if (known_.gathers()) begin_gathering(p);
  if (gathering_ != MPI_REQUEST_NULL && known_.waits() && finish_gathering()) known_.take_in(rows_);
  known_.note(p);
}

Way PatternHistory::way(const Problem& p, bool in_step) {
  const bool may_step = step_retry_.begin();
  Advice* const advice = planned_.empty() ? gathered_advice() : planned_.advice(p);
  if (advice != nullptr) {
    used_ = planned_.empty() ? &by_pattern : &by_plan;
    return advice->way_for(p);
  }
  const bool other_counts = counts_are_new(p);
  if (other_counts) step_retry_.forget();
  if (!planned_.empty()) used_ = &not_as_planned;
  else if (in_step) used_ = &by_steps;
  // Where the pattern is even, a rank that is late holds the others up less than ranks that leave the phases.
  return {{}, in_step && (may_step || other_counts), known_.even_call_s() / 2};
}

/// Returns the advice of the pattern whose phases all ranks go through in this call.
Advice* PatternHistory::gathered_advice() {
  const auto pattern = known_.pattern();
  if (!pattern) return nullptr;
  Gathered& gathered = gathered_[static_cast<std::size_t>(pattern->place)];
  if (gathered.number != pattern->number) {
    gathered.advice = std::make_unique<Advice>(patterns_.of(*pattern->pattern), known_.rank());
    gathered.number = pattern->number;
  }
  return gathered.advice.get();
}

/// Tells whether the counts differ from those of the last call, and remembers them.
bool PatternHistory::counts_are_new(const Problem& p) {
  if (sent_ == p.send_bytes && received_ == p.recv_bytes) return false;
  sent_ = p.send_bytes;
  received_ = p.recv_bytes;
  return true;
}

PatternHistory::~PatternHistory() { finish_gathering(); }

void finish_gatherings() {
  while (true) {
    PatternHistory* one = nullptr;
    {
      const std::lock_guard lock(unfinished_mutex);
      if (!unfinished.empty()) one = unfinished.back();
    }
    if (one == nullptr) return;
    one->finish_gathering();
  }
}

void PatternHistory::begin_gathering(const Problem& p) {
  const std::size_t length = known_.row_length();
  rows_.resize(length * static_cast<std::size_t>(size_));
  known_.tell(p, std::span(rows_).subspan(length * static_cast<std::size_t>(known_.rank()), length));
  const int rc = PMPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rows_.data(), static_cast<int>(length),
                                 MPI_INT64_T, own_comm_(), &gathering_);
  if (rc != MPI_SUCCESS) return;
  const std::lock_guard lock(unfinished_mutex);
  unfinished.push_back(this);
}

/// Returns whether a gathering was under way; its result is now in rows_.
bool PatternHistory::finish_gathering() {
  if (gathering_ == MPI_REQUEST_NULL) return false;
  // Persistent operations advance meanwhile, because other ranks may wait for them.
  const int rc = operations_under_way() ? wait_for(gathering_) : PMPI_Wait(&gathering_, MPI_STATUS_IGNORE);
  gathering_ = MPI_REQUEST_NULL;
  {
    const std::lock_guard lock(unfinished_mutex);
    std::erase(unfinished, this);
  }
  return rc == MPI_SUCCESS;
}

}  // namespace antiphon::mpi
