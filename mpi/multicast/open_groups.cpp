// SPDX-License-Identifier: Apache-2.0
#include "multicast/open_groups.hpp"

#include <mpi.h>

#include <algorithm>
#include <mutex>

#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

/// Holds all groups that are open on this rank.
struct Table {
  std::mutex mutex;
  std::vector<OpenGroup*> open;
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

OpenGroup* oldest_within(const std::vector<int>& world_members) {
  const std::lock_guard lock(table().mutex);
  OpenGroup* oldest = nullptr;
  for (OpenGroup* group : table().open) {
    const auto& theirs = group->world_members();
    if (group->pinned() || !std::includes(world_members.begin(), world_members.end(), theirs.begin(), theirs.end()))
      continue;
    if (oldest == nullptr || group->last_used() < oldest->last_used()) oldest = group;
  }
  return oldest;
}

OpenGroup* find(std::uint64_t number) {
  const std::lock_guard lock(table().mutex);
  const auto at = std::find_if(table().open.begin(), table().open.end(),
                               [&](const auto* group) { return group->number() == number; });
  return at == table().open.end() ? nullptr : *at;
}

void opened(OpenGroup& group) {
  const std::lock_guard lock(table().mutex);
  table().open.push_back(&group);
  ++table().counts.opened;
}

void left(OpenGroup& group) {
  const std::lock_guard lock(table().mutex);
  add(table().gone, group.statistics());
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

std::vector<OpenGroup*> all() {
  const std::lock_guard lock(table().mutex);
  return table().open;
}

}  // namespace multicast_table

MulticastCounts multicast_counts() {
  const std::lock_guard lock(table().mutex);
  return table().counts;
}

multicast::Statistics multicast_statistics() {
  const std::lock_guard lock(table().mutex);
  multicast::Statistics sum = table().gone;
  for (const OpenGroup* group : table().open) add(sum, group->statistics());
  return sum;
}

void stop_multicast() {
  if (world.settings.multicast == "off") return;
  for (OpenGroup* group : multicast_table::all()) group->drain();
  PMPI_Barrier(MPI_COMM_WORLD);
  for (OpenGroup* group : multicast_table::all()) group->abandon();
}

}  // namespace antiphon::mpi
