// SPDX-License-Identifier: Apache-2.0
#include "multicast/roles.hpp"

#include <algorithm>
#include <map>
#include <utility>

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

}  // namespace antiphon::mpi
