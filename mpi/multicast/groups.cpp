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
  if (const auto at = groups_.find(members); at != groups_.end() && !at->second->state()->pinned()) at->second->close();
}

bool MulticastGroups::used() const {
  const auto whole = groups_.find(all_);
  return whole != groups_.end() && whole->second->met();
}

std::vector<std::shared_ptr<OpenGroup>> MulticastGroups::retire() {
  std::vector<std::shared_ptr<OpenGroup>> left;
  for (auto& [members, group] : groups_) {
    group->state()->retire();
    if (group->is_open()) left.push_back(group->state());
  }
  return left;
}

}  // namespace antiphon::mpi
