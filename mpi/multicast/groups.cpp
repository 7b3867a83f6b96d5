// SPDX-License-Identifier: Apache-2.0
#include "multicast/groups.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

#include "job/clock.hpp"
#include "job/world.hpp"
#include "job/world_ranks.hpp"
#include "multicast/opening.hpp"

namespace antiphon::mpi {

MulticastRoles::MulticastRoles(std::vector<std::int32_t> of_ranks, std::span<const int> node_of_rank, int rank)
    : members(std::move(of_ranks)) {
  std::map<int, int> index_of_node;
  const auto node = [&](int member) { return node_of_rank[static_cast<std::size_t>(member)]; };
  for (const int member : members) {
    const auto [at, fresh] = index_of_node.try_emplace(node(member), static_cast<int>(leaders.size()));
    if (fresh) leaders.push_back(member);
    leader_of.push_back(at->second);
  }
  leader = leaders[static_cast<std::size_t>(leader_index(rank))];
  leads = leader == rank;
  for (const int member : members) {
    if (leads && member != rank && node(member) == node(rank)) followers.push_back(member);
  }
}

int MulticastRoles::leader_index(int member) const {
  const auto at = std::lower_bound(members.begin(), members.end(), member) - members.begin();
  return leader_of[static_cast<std::size_t>(at)];
}

namespace {

/// All groups that are open on this rank.
struct Table {
  std::mutex mutex;
  std::vector<MulticastGroup*> open;
  MulticastCounts counts;
  multicast::Statistics gone;  ///< of groups that were left
};

Table& table() {
  static Table all;
  return all;
}

void add(multicast::Statistics& sum, const multicast::Statistics& s) {
  sum.packets_sent += s.packets_sent;
  sum.bytes_sent += s.bytes_sent;
  sum.packets_received += s.packets_received;
  sum.bytes_received += s.bytes_received;
  sum.data_sent += s.data_sent;
  sum.data_received += s.data_received;
  sum.repairs_unicast += s.repairs_unicast;
  sum.repairs_multicast += s.repairs_multicast;
  sum.nacks_sent += s.nacks_sent;
  sum.duplicates += s.duplicates;
  sum.forged += s.forged;
  sum.replayed += s.replayed;
  sum.foreign += s.foreign;
  sum.malformed += s.malformed;
  sum.socket_overflows += s.socket_overflows;
  sum.rejoined += s.rejoined;
}

}  // namespace

namespace multicast_table {

int open_count() {
  const std::lock_guard lock(table().mutex);
  return static_cast<int>(table().open.size());
}

MulticastGroup* oldest_within(const std::vector<int>& world_members) {
  const std::lock_guard lock(table().mutex);
  MulticastGroup* oldest = nullptr;
  for (MulticastGroup* group : table().open) {
    const auto& theirs = group->world_members();
    if (group->pinned() || !std::includes(world_members.begin(), world_members.end(), theirs.begin(), theirs.end()))
      continue;
    if (oldest == nullptr || group->last_used() < oldest->last_used()) oldest = group;
  }
  return oldest;
}

MulticastGroup* find(std::uint64_t number) {
  const std::lock_guard lock(table().mutex);
  const auto at = std::find_if(table().open.begin(), table().open.end(),
                               [&](const auto* group) { return group->number() == number; });
  return at == table().open.end() ? nullptr : *at;
}

void opened(MulticastGroup& group) {
  const std::lock_guard lock(table().mutex);
  table().open.push_back(&group);
  ++table().counts.opened;
}

void left(MulticastGroup& group) {
  const std::lock_guard lock(table().mutex);
  if (group.has_transport()) add(table().gone, group.transport().statistics());
  std::erase(table().open, &group);
}

void refused(const std::string& reason) {
  const std::lock_guard lock(table().mutex);
  ++table().counts.refused;
  table().counts.refusal = reason;
}

void evicted() {
  const std::lock_guard lock(table().mutex);
  ++table().counts.evicted;
}

std::vector<MulticastGroup*> all() {
  const std::lock_guard lock(table().mutex);
  return table().open;
}

}  // namespace multicast_table

MulticastGroup::MulticastGroup(MPI_Comm comm, int rank, MulticastRoles roles, const MulticastGroup* whole)
    : comm_(comm), rank_(rank), roles_(std::move(roles)), whole_(whole) {
  const std::vector<int> ranks = world_ranks(comm_);
  for (const int member : roles_.members) world_members_.push_back(ranks[static_cast<std::size_t>(member)]);
  std::sort(world_members_.begin(), world_members_.end());
}

MulticastGroup::~MulticastGroup() { abandon(); }

bool MulticastGroup::open() {
  static std::atomic<std::uint64_t> uses = 0;
  last_used_ = ++uses;
  if (open_ || refused_) return open_;
  MulticastOpening(*this).run();
  if (!open_) multicast_table::refused(reason_);
  return open_;
}

void MulticastGroup::drain() {
  if (!transport_) return;
  const double give_up_s = now_s() + multicast_patience_s;
  while (!transport_->drained() && !transport_->failure() && now_s() < give_up_s) transport_->progress(1'000'000);
}

void MulticastGroup::close() {
  if (!open_) return;
  drain();
  MulticastOpening(*this).barrier();
  abandon();
}

void MulticastGroup::abandon() {
  if (!open_) return;
  multicast_table::left(*this);
  transport_.reset();
  open_ = false;
}

MulticastGroups::MulticastGroups(MPI_Comm comm, int rank, std::vector<int> node_of_rank)
    : comm_(comm), rank_(rank), node_of_rank_(std::move(node_of_rank)), all_(node_of_rank_.size()) {
  std::iota(all_.begin(), all_.end(), 0);
}

MulticastGroup& MulticastGroups::everybody() { return of(all_); }

MulticastGroup& MulticastGroups::of(const std::vector<std::int32_t>& members) {
  const MulticastGroup* const whole = members == all_ ? nullptr : &everybody();
  auto& group = groups_[members];
  if (!group)
    group = std::make_unique<MulticastGroup>(comm_, rank_, MulticastRoles(members, node_of_rank_, rank_), whole);
  return *group;
}

void MulticastGroups::close(const std::vector<std::int32_t>& members) {
  if (members == all_) return;
  if (const auto at = groups_.find(members); at != groups_.end() && !at->second->pinned()) at->second->close();
}

void MulticastGroups::close() {
  // In the same order on all ranks: those of fewer members are known to their members only, and come in the order of
  // the map.
  for (auto& [members, group] : groups_) group->close();
  groups_.clear();
}

MulticastCounts multicast_counts() {
  const std::lock_guard lock(table().mutex);
  return table().counts;
}

multicast::Statistics multicast_statistics() {
  const std::lock_guard lock(table().mutex);
  multicast::Statistics sum = table().gone;
  for (MulticastGroup* group : table().open) {
    if (group->has_transport()) add(sum, group->transport().statistics());
  }
  return sum;
}

void stop_multicast() {
  if (world.settings.multicast == "off") return;
  for (MulticastGroup* group : multicast_table::all()) group->drain();
  PMPI_Barrier(MPI_COMM_WORLD);
  for (MulticastGroup* group : multicast_table::all()) group->abandon();
}

}  // namespace antiphon::mpi
