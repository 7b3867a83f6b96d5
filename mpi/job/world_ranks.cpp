// SPDX-License-Identifier: Apache-2.0
#include "job/world_ranks.hpp"

#include <algorithm>
#include <numeric>

#include "job/members.hpp"
#include "job/world.hpp"

namespace antiphon::mpi {

namespace {

/// Returns the ranks in MPI_COMM_WORLD of the group's members, and frees the group.
std::vector<int> world_ranks_of(MPI_Group group) {
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> here(static_cast<std::size_t>(size));
  std::iota(here.begin(), here.end(), 0);
  std::vector<int> there(here.size());
  PMPI_Group_translate_ranks(group, size, here.data(), world.group, there.data());
  PMPI_Group_free(&group);
  return there;
}

}  // namespace

std::vector<int> world_ranks(MPI_Comm comm) { return world_ranks_of(members_of(comm)); }

std::vector<int> world_ranks_of_peers(MPI_Comm comm) {
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter == 0) return world_ranks(comm);
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_remote_group(comm, &group);
  return world_ranks_of(group);
}

bool all_in_world(const std::vector<int>& ranks) {
  return std::find(ranks.begin(), ranks.end(), MPI_UNDEFINED) == ranks.end();
}

std::vector<int> nodes_of_ranks(std::vector<int> ranks) {
  if (!all_in_world(ranks)) return {};
  for (int& rank : ranks) rank = world.node_of_rank[static_cast<std::size_t>(rank)];
  return ranks;
}

std::vector<int> nodes_along_tree(std::vector<int> ranks) {
  if (!world.switches.known()) return nodes_of_ranks(std::move(ranks));
  if (!all_in_world(ranks)) return {};
  for (int& rank : ranks) rank = world.switches.node_of_rank[static_cast<std::size_t>(rank)];
  return ranks;
}

}  // namespace antiphon::mpi
