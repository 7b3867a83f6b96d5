// SPDX-License-Identifier: Apache-2.0
#include "entry/pattern_history.hpp"

#include <mutex>
#include <span>

#include "entry/waits.hpp"
#include "job/progress.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

const std::string by_plan = "credit as planned";
const std::string not_as_planned = "credit not as planned";
const std::string by_pattern = "credit with a known pattern";
const std::string by_steps = "credit in step";

/// These have a gathering under way.
std::mutex unfinished_mutex;
std::vector<PatternHistory*> unfinished;

}  // namespace

PatternHistory::PatternHistory(int rank, int size, CompiledPatterns& patterns, std::function<MPI_Comm()> own_comm)
    : size_(size), patterns_(patterns), own_comm_(std::move(own_comm)), known_(rank, size, patterns.fabric()),
      planned_(rank, size) {
  if (!gathers() || !known_.is_large()) return;
  // Many ranks need not gather a pattern that all of them have from the plan.
  for (const CompiledPatterns::Planned& one : patterns.planned()) known_.expect(one.pattern);
}

void PatternHistory::before_call(const Problem& p, bool may_leave) {
  used_ = nullptr;
  leaves_ = false;
  known_.begin_call();
  if (!gathers()) return;
  if (known_.is_large()) agree(p);
  else gather(p);
  known_.note(p);
  leaves_ = may_leave && known_.leaves_to_library() && !expected_guide().planned && left();
}

void PatternHistory::gather(const Problem& p) {
  if (finish_gathering()) known_.take_in(rows_);
  if (known_.gathers()) begin_gathering(p);
  if (gathering_ != MPI_REQUEST_NULL && known_.waits() && finish_gathering()) known_.take_in(rows_);
}

/// Finds out with many other ranks whether a known pattern is this call's, and gathers counts where that pays.
void PatternHistory::agree(const Problem& p) {
  if (!known_.gathers()) return;
  KnownPatterns::Digest sums = known_.digest(p);
  under_way(PMPI_Iallreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_INT64_T, MPI_SUM, own_comm_(),
                            &gathering_));
  if (!finish_gathering() || !known_.take_in_digest(sums)) return;
  begin_gathering(p);
  if (finish_gathering()) known_.take_in(rows_);
}

/// Counts a call that is left to the library.
bool PatternHistory::left() {
  if (!planned_.empty()) world.plan_use.count_pattern(false, 0);
  return true;
}

/// Returns what this rank goes by. What all ranks expect comes first, so that they go alike; a rank whose counts are
/// others, and exactly those of another pattern of the plan, takes that one.
PatternHistory::Guide PatternHistory::guide(const Problem& p) {
  const Guide expected = expected_guide();
  if (expected.advice != nullptr && expected.advice->fits(p)) return expected;
  // Where nothing is gathered, nearly is enough.
  const PlannedWays::Found planned = planned_.find(p, !gathers());
  return planned.advice != nullptr ? Guide{planned.advice, true, planned.saves_ns} : expected;
}

Way PatternHistory::way(const Problem& p, bool in_step) {
  const bool may_step = step_retry_.begin();
  const Guide guide = this->guide(p);
  if (!planned_.empty()) world.plan_use.count_pattern(guide.planned && guide.advice->fits(p), guide.saves_ns);
  if (guide.advice != nullptr) {
    used_ = guide.planned ? &by_plan : &by_pattern;
    return guide.advice->way_for(p);
  }
  const bool other_counts = counts_are_new(p);
  if (other_counts) step_retry_.forget();
  if (in_step) used_ = &by_steps;
  else if (!planned_.empty()) used_ = &not_as_planned;
  // Where the pattern is even, a rank that is late holds the others up less than ranks that leave the phases.
  return {{}, in_step && (may_step || other_counts), known_.even_call_s() / 2};
}

/// Returns what this rank keeps of a pattern that is known.
PatternHistory::Gathered& PatternHistory::expected(const KnownPatterns::Scheduled& pattern) {
  Gathered& gathered = gathered_[static_cast<std::size_t>(pattern.place)];
  if (gathered.number != pattern.number) gathered = {pattern.number, patterns_.planned(*pattern.pattern), nullptr};
  return gathered;
}

/// Returns the part in the pattern whose phases all ranks go through in this call: the plan's phases where it has them,
/// else phases made here where they are worth it.
PatternHistory::Guide PatternHistory::expected_guide() {
  const auto pattern = known_.expected();
  if (!pattern) return {};
  Gathered& gathered = expected(*pattern);
  if (gathered.planned == nullptr && !known_.pattern()) return {};
  if (gathered.advice == nullptr) {
    const CompiledPattern& phases = gathered.planned != nullptr ? *gathered.planned : patterns_.of(*pattern->pattern);
    gathered.advice = std::make_unique<Advice>(phases, known_.rank());
  }
  const bool planned = gathered.planned != nullptr;
  return {gathered.advice.get(), planned, planned ? gathered.planned->saves_ns : 0};
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
  under_way(PMPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, rows_.data(), static_cast<int>(length), MPI_INT64_T,
                            own_comm_(), &gathering_));
}

/// Notes that a gathering is under way, if it is.
void PatternHistory::under_way(int rc) {
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
