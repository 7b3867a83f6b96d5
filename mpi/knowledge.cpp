// SPDX-License-Identifier: Apache-2.0
#include "knowledge.hpp"

#include <algorithm>

#include "world.hpp"

namespace antiphon::mpi {

namespace {

const std::string by_plan = "credit as planned";
const std::string not_as_planned = "credit not as planned";
const std::string by_pattern = "credit with a known pattern";

/// With more ranks the schedulers take longer than they can win, and so does the gathering.
constexpr int most_ranks_to_gather = 64;
constexpr std::uint64_t gather_every = 128;

/// Rotated phases are given up for the credit protocol where they take so much longer than the busiest rank's bytes. The protocol
/// itself takes about 1.2 times these (docs/measurements/exchange.md).
constexpr double most_drag = 1.3;
/// Less than that all ranks send at once, whatever the pattern.
constexpr std::int64_t least_uneven_bytes = 1 << 20;

/// Calls before which all ranks gather. Counted alike on all ranks, since collective calls have the same order everywhere.
bool gathers_before(std::uint64_t call) { return call == 2 || call == 8 || call == 32 || call % gather_every == 0; }

}  // namespace

Advice::Advice(const CompiledPattern& compiled, int rank)
    : send_bytes(static_cast<std::size_t>(compiled.phases.size)), recv_bytes(send_bytes.size()) {
  for (const PhaseOfParts& phase : compiled.phases.phases) {
    for (const Part& part : phase.parts) {
      if (part.from == rank) send_bytes[static_cast<std::size_t>(part.to)] += part.bytes;
      if (part.to != rank) continue;
      recv_bytes[static_cast<std::size_t>(part.from)] += part.bytes;
      order.push_back({part.from, part.bytes});
    }
  }
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

double lockstep_drag(const Pattern& pattern) {
  const auto ranks = static_cast<std::size_t>(pattern.size);
  std::vector<std::int64_t> sent(ranks);
  std::vector<std::int64_t> received(ranks);
  std::vector<std::int64_t> out(ranks * ranks);  // by phase and sender
  for (const PatternMessage& m : pattern.messages) {
    const auto from = static_cast<std::size_t>(m.from);
    const auto to = static_cast<std::size_t>(m.to);
    sent[from] += m.bytes;
    received[to] += m.bytes;
    out[(to + ranks - from) % ranks * ranks + from] = m.bytes;
  }
  // When each rank is through with the phases so far, in bytes: a message begins when both its ranks are.
  std::vector<std::int64_t> through(ranks);
  std::vector<std::int64_t> next(ranks);
  for (std::size_t phase = 1; phase < ranks; ++phase) {
    next = through;
    for (std::size_t from = 0; from < ranks; ++from) {
      const std::int64_t bytes = out[phase * ranks + from];
      if (bytes == 0) continue;
      const std::size_t to = (from + phase) % ranks;
      const std::int64_t end = std::max(through[from], through[to]) + bytes;
      next[from] = std::max(next[from], end);
      next[to] = std::max(next[to], end);
    }
    through.swap(next);
  }
  const std::int64_t busiest = std::max({std::int64_t{1}, *std::max_element(sent.begin(), sent.end()),
                                         *std::max_element(received.begin(), received.end())});
  return static_cast<double>(*std::max_element(through.begin(), through.end())) / static_cast<double>(busiest);
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
  if (!planned() && size_ <= most_ranks_to_gather && gathers_before(calls_)) gather(p, own);
}

std::span<const GrantStep> PatternKnowledge::advice(const Problem& p, MPI_Comm own) {
  if (known_.size() == planned_ && !gathered_.messages.empty()) {
    known_.push_back(std::make_unique<Advice>(compile_pattern(gathered_, fabric_of(own, size_)), rank_));
  }
  const Advice* const advice = known_.empty() ? nullptr : find(p);
  if (planned()) world.count_planned(advice != nullptr);
  used_ = advice == nullptr ? (planned() ? &not_as_planned : nullptr) : planned() ? &by_plan : &by_pattern;
  return advice == nullptr ? std::span<const GrantStep>{} : advice->order;
}

void PatternKnowledge::gather(const Problem& p, MPI_Comm own) {
  table_.resize(static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_));
  if (PMPI_Allgather(p.send_bytes.data(), size_, MPI_INT64_T, table_.data(), size_, MPI_INT64_T, own) != MPI_SUCCESS) return;
  Pattern pattern = Pattern::of_counts(size_, table_);
  if (pattern == gathered_) return;
  gathered_ = std::move(pattern);
  uneven_ = gathered_.total_bytes() >= least_uneven_bytes && lockstep_drag(gathered_) > most_drag;
  known_.resize(planned_);
}

}  // namespace antiphon::mpi
