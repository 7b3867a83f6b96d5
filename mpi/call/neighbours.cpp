// SPDX-License-Identifier: Apache-2.0
#include "call/neighbours.hpp"

#include <algorithm>

#include "call/datatype.hpp"

namespace antiphon::mpi {

namespace {

/// Lists a grid's blocks: for each dimension, first the block to or from the lower neighbour, then the upper one's.
NeighbourLists of_grid(MPI_Comm comm) {
  NeighbourLists lists{.known = true};
  int dimensions = 0;
  PMPI_Cartdim_get(comm, &dimensions);
  for (int d = 0; d < dimensions; ++d) {
    int lower = MPI_PROC_NULL;
    int upper = MPI_PROC_NULL;
    PMPI_Cart_shift(comm, d, 1, &lower, &upper);
    lists.sources.push_back(lower);
    lists.sources.push_back(upper);
  }
  lists.destinations = lists.sources;
  return lists;
}

std::vector<int> graph_neighbours(MPI_Comm comm, int rank) {
  int count = 0;
  PMPI_Graph_neighbors_count(comm, rank, &count);
  std::vector<int> ranks(static_cast<std::size_t>(count));
  PMPI_Graph_neighbors(comm, rank, count, ranks.data());
  return ranks;
}

NeighbourLists of_graph(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  const std::vector<int> ranks = graph_neighbours(comm, rank);
  return {ranks, ranks, true};
}

NeighbourLists of_distributed_graph(MPI_Comm comm) {
  NeighbourLists lists{.known = true};
  int in = 0;
  int out = 0;
  int weighted = 0;
  PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  lists.sources.resize(static_cast<std::size_t>(in));
  lists.destinations.resize(static_cast<std::size_t>(out));
  // A library writes weights wherever the graph has some, so there must be room for them.
  std::vector<int> in_weights(lists.sources.size() + 1);
  std::vector<int> out_weights(lists.destinations.size() + 1);
  PMPI_Dist_graph_neighbors(comm, in, lists.sources.data(), in_weights.data(), out, lists.destinations.data(),
                            out_weights.data());
  return lists;
}

bool has_duplicates(std::vector<int> ranks) {
  std::erase(ranks, MPI_PROC_NULL);
  std::sort(ranks.begin(), ranks.end());
  return std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
}

/// In a grid, the lower and the upper neighbour are the same rank where a periodic dimension has one or two ranks.
bool grid_has_duplicates(MPI_Comm comm) {
  int dimensions = 0;
  PMPI_Cartdim_get(comm, &dimensions);
  std::vector<int> sizes(static_cast<std::size_t>(dimensions) + 1);
  std::vector<int> periodic(sizes.size()), place(sizes.size());
  PMPI_Cart_get(comm, dimensions, sizes.data(), periodic.data(), place.data());
  for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions); ++d) {
    if (periodic[d] != 0 && sizes[d] <= 2) return true;
  }
  return false;
}

NeighbourFacts facts_of_graph(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  NeighbourFacts facts{true, 0};
  for (int rank = 0; rank < size; ++rank) {
    const std::vector<int> ranks = graph_neighbours(comm, rank);
    facts.distinct = facts.distinct && !has_duplicates(ranks);
    facts.most_sources = std::max(facts.most_sources, static_cast<int>(ranks.size()));
  }
  return facts;
}

/// Describes a block of one side of a call.
struct Block {
  std::int64_t count = 0;
  std::int64_t place_bytes = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::int64_t size_bytes = 0;  ///< size of one element
};

bool block_of(const Call& call, bool sends, std::int64_t k, Block& block) {
  const Integers& counts = sends ? call.sendcounts : call.recvcounts;
  const Integers& displs = sends ? call.senddispls : call.recvdispls;
  block.type = has_types(call.form) ? (sends ? call.sendtypes : call.recvtypes)[k]
               : sends              ? call.sendtype
                                    : call.recvtype;
  block.count = counts.present() ? counts[k] : sends ? call.sendcount : call.recvcount;
  TypeInfo info;
  if (!inspect(block.type, info)) return block.count == 0 && has_types(call.form);
  block.size_bytes = info.size_bytes;
  const bool same_for_all = sends && (call.form == Form::neighbor_allgather || call.form == Form::neighbor_allgatherv);
  if (has_types(call.form)) block.place_bytes = displs[k];
  else if (!same_for_all) block.place_bytes = (displs.present() ? displs[k] : k * block.count) * info.extent_bytes;
  return true;
}

}  // namespace

NeighbourLists neighbours_of(MPI_Comm comm) {
  int topology = MPI_UNDEFINED;
  if (comm == MPI_COMM_NULL || PMPI_Topo_test(comm, &topology) != MPI_SUCCESS) return {};
  if (topology == MPI_CART) return of_grid(comm);
  if (topology == MPI_GRAPH) return of_graph(comm);
  return topology == MPI_DIST_GRAPH ? of_distributed_graph(comm) : NeighbourLists{};
}

Neighbours::Neighbours(MPI_Comm comm) : comm_(comm), lists_(neighbours_of(comm)) {
  distinct_ = lists_.known && !has_duplicates(lists_.sources) && !has_duplicates(lists_.destinations);
}

NeighbourFacts Neighbours::here() const { return {distinct_, static_cast<int>(lists_.sources.size())}; }

std::optional<NeighbourFacts> Neighbours::everywhere() const {
  int topology = MPI_UNDEFINED;
  PMPI_Topo_test(comm_, &topology);
  if (topology == MPI_CART) return NeighbourFacts{!grid_has_duplicates(comm_), here().most_sources};
  if (topology == MPI_GRAPH) return facts_of_graph(comm_);
  return topology == MPI_DIST_GRAPH ? std::nullopt : std::optional(NeighbourFacts{});
}

void Neighbours::resize(Side& side, int size) {
  const auto ranks = static_cast<std::size_t>(size);
  side.counts.resize(ranks);
  side.displs.resize(ranks);
  side.types.resize(ranks, MPI_DATATYPE_NULL);
}

/// Every call fills the entries of the same ranks, so all other ranks keep their empty blocks.
bool Neighbours::fill(Side& side, const std::vector<int>& ranks, const Call& call, bool sends) {
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    if (ranks[k] == MPI_PROC_NULL) continue;
    Block block;
    if (!block_of(call, sends, static_cast<std::int64_t>(k), block)) return false;
    const auto rank = static_cast<std::size_t>(ranks[k]);
    side.counts[rank] = block.count;
    side.displs[rank] = block.place_bytes;
    side.types[rank] = block.type;
  }
  return true;
}

const Call* Neighbours::spread(const Call& call, int size) {
  if (!distinct_) return nullptr;
  if (!spread_) {
    resize(send_, size);
    resize(recv_, size);
    spread_ =
        std::make_unique<Call>(Call{.collective = Collective::alltoallv, .form = Form::alltoallw, .comm = call.comm});
    spread_->sendcounts = send_.counts.data();
    spread_->senddispls = send_.displs.data();
    spread_->sendtypes = send_.types.data();
    spread_->recvcounts = recv_.counts.data();
    spread_->recvdispls = recv_.displs.data();
    spread_->recvtypes = recv_.types.data();
  }
  spread_->sendbuf = call.sendbuf;
  spread_->recvbuf = call.recvbuf;
  if (!fill(send_, lists_.destinations, call, true) || !fill(recv_, lists_.sources, call, false)) return nullptr;
  return spread_.get();
}

bool bytes_by_rank(const Call& call, std::vector<std::int64_t>& to, std::vector<std::int64_t>& from) {
  int size = 0;
  PMPI_Comm_size(call.comm, &size);
  NeighbourLists lists;
  if (has_neighbours(call.form)) {
    lists = neighbours_of(call.comm);
  } else {
    for (int r = 0; r < size; ++r) lists.sources.push_back(r);
    lists.destinations = lists.sources;
  }
  const auto add = [&](std::vector<std::int64_t>& bytes, const std::vector<int>& ranks, bool sends) {
    bytes.assign(static_cast<std::size_t>(size), 0);
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      Block block;
      if (ranks[k] == MPI_PROC_NULL) continue;
      if (!block_of(call, sends, static_cast<std::int64_t>(k), block)) return false;
      bytes[static_cast<std::size_t>(ranks[k])] += std::max<std::int64_t>(0, block.count) * block.size_bytes;
    }
    return true;
  };
  // In place, as much goes to a rank as comes from it.
  const bool in_place = call.sendbuf == MPI_IN_PLACE;
  return add(from, lists.sources, false) && add(to, lists.destinations, !in_place);
}

}  // namespace antiphon::mpi
