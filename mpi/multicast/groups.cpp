// SPDX-License-Identifier: Apache-2.0
#include "multicast/groups.hpp"

#include <numeric>
#include <utility>

namespace antiphon::mpi {

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
  // All ranks close in the same order. Only its members know a smaller group, and the map's order is the same on all of
  // them.
  for (auto& [members, group] : groups_) group->close();
  groups_.clear();
}

}  // namespace antiphon::mpi
