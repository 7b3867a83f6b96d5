// SPDX-License-Identifier: Apache-2.0
#include "knowledge.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "persistent.hpp"
#include "world.hpp"

namespace antiphon::mpi {

namespace {

const std::string by_plan = "credit as planned";
const std::string not_as_planned = "credit not as planned";
const std::string by_pattern = "credit with a known pattern";
const std::string by_steps = "credit in step";
const std::string by_credit = "credit";

/// With more ranks the schedulers take longer than they can win, and so does the gathering.
constexpr int most_ranks_to_gather = 64;
/// What gathering may take of the time that all calls take, and how seldom it is done at most.
constexpr double gathering_share = 0.005;
constexpr std::uint64_t gather_every = 128;

/// A pattern of less than that is not scheduled: all ranks send at once, and scheduling takes longer.
constexpr std::int64_t least_bytes = 1 << 20;

/// After how many calls of this pattern all ranks gather again: the longer a call takes, the sooner. The same on every rank.
std::uint64_t calls_between(const Pattern& pattern, const Fabric& fabric, std::uint64_t calls) {
  const double call_s = lower_bound(pattern, fabric).seconds;
  const double ranks = pattern.size;
  const double gathering_s = 1e-9 * static_cast<double>(fabric.latency_ns) * std::log2(ranks) + 8 * ranks * ranks / fabric.link_bytes_per_s;
  const double affordable = gathering_s / (gathering_share * std::max(call_s, 1e-9));
  // Soon again where a communicator is young.
  const auto most = std::min(gather_every, 3 * calls);
  return affordable < static_cast<double>(most) ? static_cast<std::uint64_t>(std::ceil(affordable)) : most;
}

}  // namespace

Advice::Advice(const CompiledPattern& compiled, int rank)
    : send_bytes(static_cast<std::size_t>(compiled.phases.size)), recv_bytes(send_bytes.size()),
      in_step(compiled.synchronisation != Synchronisation::none && compiled.synchronisation != Synchronisation::grants) {
  for (const PhaseOfParts& phase : compiled.phases.phases) {
    ExchangeStep step;
    const auto take = [&](int& peer, std::int64_t& bytes, const Part& part, int other) {
      if (bytes > 0) steps.push_back(std::exchange(step, {}));  // several that go together
      peer = other;
      bytes = part.bytes;
    };
    for (const Part& part : phase.parts) {
      if (part.from == rank) {
        send_bytes[static_cast<std::size_t>(part.to)] += part.bytes;
        take(step.to, step.send_bytes, part, part.to);
      }
      if (part.to == rank) {
        recv_bytes[static_cast<std::size_t>(part.from)] += part.bytes;
        take(step.from, step.receive_bytes, part, part.from);
      }
    }
    if (step != ExchangeStep{}) steps.push_back(step);
  }
  // Where a rank's counts are others after all, the ranks that keep to the schedule bear that for half a call.
  patience_s = 0.5e-9 * static_cast<double>(compiled.expected_ns);
}

bool Advice::fits(const Problem& p) const {
  const auto own = static_cast<std::size_t>(p.rank);
  for (std::size_t i = 0; i < send_bytes.size(); ++i) {
    if (i != own && (send_bytes[i] != p.send_bytes[i] || recv_bytes[i] != p.recv_bytes[i])) return false;
  }
  return true;
}

Fabric fabric_of(MPI_Comm comm, int size) {
  Fabric fabric;
  constexpr double payload_share = 1448.0 / 1514 / 8;  // of an Ethernet link's bits
  if (world.settings.link_bits_per_s > 0) fabric.link_bytes_per_s = payload_share * static_cast<double>(world.settings.link_bits_per_s);
  if (world.settings.credit_bytes > 0) fabric.port_buffer_bytes = world.settings.credit_bytes / 2;
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  std::vector<int> here(static_cast<std::size_t>(size));
  std::vector<int> there(here.size());
  for (std::size_t i = 0; i < here.size(); ++i) here[i] = static_cast<int>(i);
  PMPI_Group_translate_ranks(group, size, here.data(), world.group, there.data());
  PMPI_Group_free(&group);
  std::vector<int> nodes;
  for (const int r : there) {
    const int lowest = world.node_of_rank[static_cast<std::size_t>(r)];
    const auto found = std::find(nodes.begin(), nodes.end(), lowest);
    fabric.node_of_rank.push_back(static_cast<int>(found - nodes.begin()));
    if (found == nodes.end()) nodes.push_back(lowest);
  }
  return fabric;
}

PatternKnowledge::PatternKnowledge(int rank, int size) : rank_(rank), size_(size) {
  for (const CompiledPattern& pattern : world.plan.patterns) {
    if (pattern.phases.size == size) known_.push_back(std::make_unique<Advice>(pattern, rank));
  }
  planned_ = known_.size();
}

const Advice* PatternKnowledge::find(const Problem& p) {
  if (last_ < known_.size() && known_[last_]->fits(p)) return known_[last_].get();
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (!known_[i]->fits(p)) continue;
    last_ = i;
    return known_[i].get();
  }
  return nullptr;
}

void PatternKnowledge::before_call(const Problem& p, MPI_Comm own) {
  ++calls_;
  used_ = nullptr;
  // A plan that fits makes gathering needless, but whether it fits everywhere no rank knows: with a plan none gathers.
  if (!planned() && size_ <= most_ranks_to_gather && calls_ == next_gathering_) gather(p, own);
}

Way PatternKnowledge::way(const Problem& p, MPI_Comm own, bool in_step) {
  // Only where counts do come again: scheduling takes about a millisecond, and longer for many ranks.
  if (known_.size() == planned_ && calls_ > gathered_before_ && is_long_ && was_gathered(p)) {
    known_.push_back(std::make_unique<Advice>(compile_pattern(gathered_, fabric_of(own, size_)), rank_));
  }
  const Advice* const advice = known_.empty() ? nullptr : find(p);
  if (planned()) world.count_planned(advice != nullptr);
  if (advice != nullptr) {
    used_ = planned() ? &by_plan : &by_pattern;
    return advice->way();
  }
  if (counts_are_new(p)) stalled_ = false;
  const bool steps = in_step && !stalled_;
  used_ = planned() ? &not_as_planned : steps ? &by_steps : in_step ? &by_credit : nullptr;
  return {{}, steps};
}

bool PatternKnowledge::was_gathered(const Problem& p) const {
  const auto ranks = static_cast<std::size_t>(size_);
  const auto own = static_cast<std::size_t>(rank_);
  for (std::size_t i = 0; i < ranks; ++i) {
    if (i != own && (table_[own * ranks + i] != p.send_bytes[i] || table_[i * ranks + own] != p.recv_bytes[i])) return false;
  }
  return true;
}

/// Remembers them.
bool PatternKnowledge::counts_are_new(const Problem& p) {
  if (sent_ == p.send_bytes && received_ == p.recv_bytes) return false;
  sent_ = p.send_bytes;
  received_ = p.recv_bytes;
  return true;
}

void PatternKnowledge::gather(const Problem& p, MPI_Comm own) {
  table_.resize(static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_));
  // Not a blocking one: persistent operations, for which others may wait, go on meanwhile.
  MPI_Request request = MPI_REQUEST_NULL;
  int rc = PMPI_Iallgather(p.send_bytes.data(), size_, MPI_INT64_T, table_.data(), size_, MPI_INT64_T, own, &request);
  if (rc == MPI_SUCCESS) rc = persistent::active() ? persistent::wait_for(request) : PMPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rc != MPI_SUCCESS) return;
  Pattern pattern = Pattern::of_counts(size_, table_);
  next_gathering_ = calls_ + calls_between(pattern, fabric_of(own, size_), calls_);
  if (pattern == gathered_) return;
  gathered_before_ = calls_;
  is_long_ = pattern.total_bytes() >= least_bytes;
  gathered_ = std::move(pattern);
  known_.resize(planned_);
}

}  // namespace antiphon::mpi
