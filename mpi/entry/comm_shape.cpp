// SPDX-License-Identifier: Apache-2.0
#include "entry/comm_shape.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "antiphon/fnv.hpp"
#include "job/world.hpp"
#include "job/world_ranks.hpp"

namespace antiphon::mpi {

namespace {

/// Returns how far apart the ranks are, each from the next; 0 if differently far, or backwards.
int stride_of(const std::vector<int>& ranks) {
  const int stride = ranks[1] - ranks[0];
  for (std::size_t i = 2; i < ranks.size(); ++i) {
    if (ranks[i] - ranks[i - 1] != stride) return 0;
  }
  return std::max(stride, 0);
}

}  // namespace

std::optional<CommShape> shape_of(MPI_Comm comm) {
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter != 0) return std::nullopt;
  CommShape shape;
  PMPI_Comm_rank(comm, &shape.rank);
  PMPI_Comm_size(comm, &shape.size);
  if (shape.size < 2) return std::nullopt;
  const std::vector<int> ranks = world_ranks(comm);
  shape.node_of_rank = nodes_of_ranks(ranks);
  shape.stride = stride_of(ranks);
  Fnv members;
  for (const int rank : ranks) members.add(std::int64_t{rank});
  shape.members = members.value();
  const std::vector<int>& node_of = shape.node_of_rank;
  if (node_of.empty()) return std::nullopt;
  std::map<int, int> ranks_on_node;
  for (const int node : node_of) ++ranks_on_node[node];
  shape.nodes = static_cast<int>(ranks_on_node.size());
  int runs = 1;
  for (std::size_t i = 1; i < node_of.size(); ++i) runs += node_of[i] != node_of[i - 1] ? 1 : 0;
  shape.blocked = runs == shape.nodes;
  shape.nodes_along_tree = nodes_along_tree(ranks);
  shape.along = places_along(shape.nodes_along_tree, world.switches.topology, std::nullopt);
  for (const int ranks : shape.along.switch_sizes)
    shape.max_ranks_per_switch = std::max(shape.max_ranks_per_switch, ranks);
  for (const auto& [node, ranks] : ranks_on_node) shape.max_ranks_per_node = std::max(shape.max_ranks_per_node, ranks);
  return shape;
}

double blocks_on_link(Collective collective, int ranks, int max_ranks_per_node) {
  switch (collective) {
    case Collective::scatter:
    case Collective::gather:
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block: return ranks - 1;
    case Collective::alltoall: return static_cast<double>(max_ranks_per_node) * (ranks - max_ranks_per_node);
    default: return 1;
  }
}

double bits_on_link(Collective collective, int ranks, int max_ranks_per_node, std::int64_t bytes) {
  return 8 * blocks_on_link(collective, ranks, max_ranks_per_node) * static_cast<double>(bytes);
}

double shortest_call_s(int ranks) { return usual_latency_s * std::bit_width(static_cast<unsigned>(ranks - 1)); }

Places CommShape::places(int root) const {
  return along.switch_sizes.empty() ? along : places_along(nodes_along_tree, world.switches.topology, root);
}

}  // namespace antiphon::mpi
