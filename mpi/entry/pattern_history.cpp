// SPDX-License-Identifier: Apache-2.0
#include "entry/pattern_history.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <utility>

#include "entry/waits.hpp"
#include "job/progress.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

const std::string by_plan = "credit as planned";
const std::string not_as_planned = "credit not as planned";
const std::string by_pattern = "credit with a known pattern";
const std::string by_steps = "credit in step";
const std::string by_credit = "credit";

/// With more ranks, the schedulers take longer than they can save, and so does the gathering.
constexpr int most_ranks_to_gather = 64;
/// Gathering may take this share of the time of all calls; it happens at least once in `gather_every` calls.
constexpr double gathering_share = 0.005;
constexpr std::uint64_t gather_every = 128;

/// A pattern with fewer bytes is not scheduled: all ranks send at once, and scheduling takes longer than it saves.
constexpr std::int64_t least_bytes = 1 << 20;

/// Phases of rotation are uneven if together they take more than this many times as long as the link needs. Such a
/// pattern is scheduled before its counts come again, if there are few ranks, so that this does not take long.
constexpr double uneven = 1.25;
constexpr int few_ranks = 32;

/// These have a gathering under way.
std::mutex unfinished_mutex;
std::vector<PatternHistory*> unfinished;

/// Returns after how many calls of this pattern all ranks gather again; the longer a call takes, the sooner. `useful`
/// says that the gathered pattern decides something; else gathering only checks whether patterns have changed. The
/// result is the same on every rank.
std::uint64_t calls_between(const Pattern& pattern, const Fabric& fabric, std::uint64_t calls, bool useful) {
  const double call_s = lower_bound(pattern, fabric).seconds;
  const double ranks = pattern.size;
  const double gathering_s =
      1e-9 * static_cast<double>(fabric.latency_ns) * std::log2(ranks) + 8 * ranks * ranks / fabric.link_bytes_per_s;
  const double affordable = gathering_s / (gathering_share * std::max(call_s, 1e-9));
  // While a communicator is young, ranks gather again soon.
  const auto most = std::min(gather_every, (useful ? 3 : 15) * calls);
  return affordable < static_cast<double>(most) ? static_cast<std::uint64_t>(std::ceil(affordable)) : most;
}

/// Tells whether ranks that go through phases of rotation in step wait for each other, because a phase is as long as
/// its longest message.
bool is_uneven(const Pattern& pattern, const Fabric& fabric) {
  std::vector<std::int64_t> longest(static_cast<std::size_t>(pattern.size));
  for (const PatternMessage& m : pattern.messages) {
    std::int64_t& phase = longest[static_cast<std::size_t>((m.to - m.from + pattern.size) % pattern.size)];
    phase = std::max(phase, m.bytes);
  }
  const auto together = static_cast<double>(std::accumulate(longest.begin(), longest.end(), std::int64_t{0}));
  return together > uneven * static_cast<double>(lower_bound(pattern, fabric).node_bytes);
}

}  // namespace

PatternHistory::PatternHistory(int rank, int size, CompiledPatterns& patterns, std::function<MPI_Comm()> own_comm)
    : rank_(rank), size_(size), patterns_(patterns), own_comm_(std::move(own_comm)) {
  for (const CompiledPattern& pattern : world.plan.patterns) {
    if (pattern.phases.size == size_) known_.push_back(std::make_unique<Advice>(pattern, rank_));
  }
  planned_ = known_.size();
}

const Advice* PatternHistory::find(const Problem& p) {
  if (last_ < known_.size() && known_[last_]->fits(p)) return known_[last_].get();
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (!known_[i]->fits(p)) continue;
    last_ = i;
    return known_[i].get();
  }
  return nullptr;
}

void PatternHistory::before_call(const Problem& p) {
  ++calls_;
  used_ = nullptr;
  const std::int64_t kept = p.send_bytes[static_cast<std::size_t>(rank_)];
  most_sent_bytes_ = std::max(most_sent_bytes_, std::accumulate(p.send_bytes.begin(), p.send_bytes.end(), -kept));
  // A plan that fits makes gathering needless. No rank knows whether it fits everywhere, so with a plan no rank
  // gathers.
  if (planned() || size_ > most_ranks_to_gather) return;
  if (finish_gathering()) take_in();
  if (calls_ != next_gathering_) return;
  begin_gathering(p);
  if ((calls_ == 1 || is_long_) && finish_gathering()) take_in();
}

Way PatternHistory::way(const Problem& p, bool in_step) {
  // Scheduling takes about a millisecond, longer for many ranks, so it needs counts that come again.
  if (known_.size() == planned_ && (at_once_ || calls_ > gathered_before_) && is_long_ && was_gathered(p)) {
    known_.push_back(std::make_unique<Advice>(patterns_.of(gathered_), rank_));
  }
  const Advice* const advice = known_.empty() ? nullptr : find(p);
  if (planned()) world.count_planned(advice != nullptr);
  if (advice != nullptr) {
    used_ = planned() ? &by_plan : &by_pattern;
    return advice->way();
  }
  if (counts_are_new(p)) stalled_ = false;
  const bool steps = in_step && !stalled_;
  if (planned()) used_ = &not_as_planned;
  else if (in_step) used_ = steps ? &by_steps : &by_credit;
  return {{}, steps};
}

bool PatternHistory::was_gathered(const Problem& p) const {
  const auto ranks = static_cast<std::size_t>(size_);
  const auto own = static_cast<std::size_t>(rank_);
  for (std::size_t i = 0; i < ranks; ++i) {
    if (i != own && (table_[own * ranks + i] != p.send_bytes[i] || table_[i * ranks + own] != p.recv_bytes[i]))
      return false;
  }
  return true;
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
  const auto ranks = static_cast<std::size_t>(size_);
  coming_.resize(ranks * ranks);
  // A rank's bytes to itself are of no interest, so in their place it tells the most bytes that it has sent in a call.
  const auto row = coming_.begin() + static_cast<std::ptrdiff_t>(ranks) * rank_;
  std::copy(p.send_bytes.begin(), p.send_bytes.end(), row);
  row[rank_] = std::exchange(most_sent_bytes_, 0);
  const int rc =
      PMPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, coming_.data(), size_, MPI_INT64_T, own_comm_(), &gathering_);
  if (rc != MPI_SUCCESS) return;
  const std::lock_guard lock(unfinished_mutex);
  unfinished.push_back(this);
}

/// Returns whether a gathering was under way; its result is now in table_.
bool PatternHistory::finish_gathering() {
  if (gathering_ == MPI_REQUEST_NULL) return false;
  // Persistent operations advance meanwhile, because other ranks may wait for them.
  const int rc = operations_under_way() ? wait_for(gathering_) : PMPI_Wait(&gathering_, MPI_STATUS_IGNORE);
  gathering_ = MPI_REQUEST_NULL;
  {
    const std::lock_guard lock(unfinished_mutex);
    std::erase(unfinished, this);
  }
  table_.swap(coming_);
  return rc == MPI_SUCCESS;
}

void PatternHistory::take_in() {
  const auto ranks = static_cast<std::size_t>(size_);
  const Fabric& fabric = patterns_.fabric();
  Pattern pattern = Pattern::of_counts(size_, table_);
  const bool changed = pattern != gathered_;
  const std::uint64_t gathered_for = next_gathering_;
  is_short_ = is_short(pattern, fabric);
  for (std::size_t i = 0; i < ranks; ++i) is_short_ = is_short_ && table_[i * ranks + i] <= short_pattern_bytes;
  is_long_ = pattern.total_bytes() >= least_bytes;
  at_once_ = is_long_ && size_ <= few_ranks && is_uneven(pattern, fabric);
  // A pattern that is worth it is gathered for each call as long as it changes each time.
  const bool again = at_once_ && changed && gathered_for > 1;
  next_gathering_ += again ? 1 : calls_between(pattern, fabric, gathered_for, is_short_ || is_long_);
  if (!changed) return;
  gathered_before_ = gathered_for;
  gathered_ = std::move(pattern);
  known_.resize(planned_);
}

}  // namespace antiphon::mpi
