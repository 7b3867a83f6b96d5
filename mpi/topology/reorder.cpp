// SPDX-License-Identifier: Apache-2.0
#include "topology/reorder.hpp"

#include <array>
#include <numeric>
#include <optional>
#include <vector>

#include "topology/reorder_order.hpp"

namespace antiphon::mpi::reordering {

namespace {

using Numbers = std::vector<int>;

int rank_in(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

/// Returns the number of ranks of a grid, or nothing if the arguments are wrong or do not fit; the library reports
/// that.
std::optional<int> grid_ranks(int dimensions, const int* dims, const int* periods, int limit) {
  if (dimensions < 1 || dims == nullptr || periods == nullptr) return std::nullopt;
  std::int64_t ranks = 1;
  for (int d = 0; d < dimensions; ++d) {
    if (dims[d] < 1) return std::nullopt;
    ranks *= dims[d];
    if (ranks > limit) return std::nullopt;
  }
  return static_cast<int>(ranks);
}

/// Returns both directions between neighbours in each dimension; ranks are row-major, as in the standard.
std::vector<Edge> grid_edges(int dimensions, const int* dims, const int* periods, int ranks) {
  std::vector<Edge> edges;
  int stride = ranks;
  for (int d = 0; d < dimensions; ++d) {
    const int length = dims[d];
    stride /= length;
    for (int r = 0; r < ranks; ++r) {
      const int place = r / stride % length;
      if (place + 1 == length && (periods[d] == 0 || length < 3)) continue;  // a ring of two is one link
      const int next = place + 1 < length ? r + stride : r - place * stride;
      edges.push_back({r, next});
      edges.push_back({next, r});
    }
  }
  return edges;
}

bool valid_graph(int nodes, const int* index, const int* edges, int limit) {
  if (nodes < 1 || nodes > limit || index == nullptr) return false;
  for (int i = 0, before = 0; i < nodes; before = index[i++]) {
    if (index[i] < before) return false;
  }
  if (index[nodes - 1] > 0 && edges == nullptr) return false;
  for (int e = 0; e < index[nodes - 1]; ++e) {
    if (edges[e] < 0 || edges[e] >= nodes) return false;
  }
  return true;
}

std::vector<Edge> graph_edges(int nodes, const int* index, const int* edges) {
  std::vector<Edge> list;
  for (int i = 0, e = 0; i < nodes; ++i) {
    for (; e < index[i]; ++e) list.push_back({i, edges[e]});
  }
  return list;
}

/// Holds what one rank declares of a distributed graph, as a flat list: from, to and weight of each edge.
struct Declared {
  Numbers triples;
  bool valid = true;

  void add(int from, int to, int weight, int ranks) {
    valid = valid && from >= 0 && from < ranks && to >= 0 && to < ranks && weight >= 0;
    triples.insert(triples.end(), {from, to, weight});
  }
};

Declared declared_edges(int n, const int* sources, const int* degrees, const int* destinations, const int* weights,
                        int ranks) {
  Declared d;
  if (n < 0 || (n > 0 && (sources == nullptr || degrees == nullptr))) d.valid = false;
  const bool plain = weights == unweighted();
  for (int i = 0, e = 0; d.valid && i < n; ++i) {
    d.valid = degrees[i] >= 0 && (degrees[i] == 0 || (destinations != nullptr && weights != nullptr));
    for (int k = 0; d.valid && k < degrees[i]; ++k, ++e)
      d.add(sources[i], destinations[e], plain ? 1 : weights[e], ranks);
  }
  return d;
}

/// Returns the edges of all ranks on rank 0 of `old`, and an empty list on the others.
std::vector<Edge> gather_edges(MPI_Comm old, const Numbers& triples) {
  const int ranks = size_of(old);
  const bool root = rank_in(old) == 0;
  const int own = static_cast<int>(triples.size());
  Numbers counts(root ? static_cast<std::size_t>(ranks) : 0);
  Numbers places(counts.size());
  PMPI_Gather(&own, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, old);
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  Numbers all(root ? static_cast<std::size_t>(places.back() + counts.back()) : 0);
  PMPI_Gatherv(triples.data(), own, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT, 0, old);
  std::vector<Edge> edges;
  edges.reserve(all.size() / 3);
  for (std::size_t i = 0; i + 2 < all.size(); i += 3)
    edges.push_back({all[i], all[i + 1], static_cast<double>(all[i + 2])});
  return edges;
}

/// Holds sums over all ranks of `old`: how many have wrong arguments, how many numbers their lists have, and how many
/// have weights (adjacent graphs).
struct Agreed {
  std::int64_t wrong = 0, numbers = 0, weighted_in = 0, weighted_out = 0;

  [[nodiscard]] bool usable() const { return wrong == 0 && numbers > 0 && numbers < std::int64_t{1} << 30; }
};

Agreed agree(MPI_Comm old, const Declared& declared, bool weighted_in = false, bool weighted_out = false) {
  const std::array<std::int64_t, 4> own{declared.valid ? 0 : 1, static_cast<std::int64_t>(declared.triples.size()),
                                        weighted_in ? 1 : 0, weighted_out ? 1 : 0};
  std::array<std::int64_t, 4> sum{1, 0, 0, 0};
  PMPI_Allreduce(own.data(), sum.data(), 4, MPI_INT64_T, MPI_SUM, old);
  return {sum[0], sum[1], sum[2], sum[3]};
}

/// Calls `make` on the processes in their new order, and frees the communicator that only this call needs.
template <class Make>
int make_placed(MPI_Comm old, const Numbers& order, MPI_Comm* made, const Make& make) {
  MPI_Comm placed = MPI_COMM_NULL;
  int rc = split(old, order, &placed);
  if (rc != MPI_SUCCESS) return rc;
  *made = MPI_COMM_NULL;
  if (placed == MPI_COMM_NULL) return MPI_SUCCESS;
  rc = make(placed);
  PMPI_Comm_free(&placed);
  return rc;
}

/// Holds a rank's incoming and outgoing neighbours as dist_graph_create_adjacent takes them.
struct Neighbours {
  Numbers sources, source_weights, destinations, destination_weights;

  [[nodiscard]] std::array<int, 2> degrees() const {
    return {static_cast<int>(sources.size()), static_cast<int>(destinations.size())};
  }
  std::array<Numbers*, 4> lists() { return {&sources, &source_weights, &destinations, &destination_weights}; }
};

/// Gives a process that becomes rank r the neighbours that the process with the old rank r declares.
int hand_over(MPI_Comm placed, int to, int from, Neighbours& own, Neighbours& taken) {
  constexpr int tag = 0;
  const auto degrees = own.degrees();
  std::array<int, 2> wanted{};
  int rc = PMPI_Sendrecv(degrees.data(), 2, MPI_INT, to, tag, wanted.data(), 2, MPI_INT, from, tag, placed,
                         MPI_STATUS_IGNORE);
  for (std::size_t i = 0; rc == MPI_SUCCESS && i < 4; ++i) {
    Numbers& out = *own.lists()[i];
    Numbers& in = *taken.lists()[i];
    in.reserve(1);  // an empty list needs an address too: null would be an error
    in.resize(static_cast<std::size_t>(wanted[i / 2]));
    rc = PMPI_Sendrecv(out.data(), degrees[i / 2], MPI_INT, to, tag, in.data(), wanted[i / 2], MPI_INT, from, tag,
                       placed, MPI_STATUS_IGNORE);
  }
  return rc;
}

Numbers list_of(const int* values, int count, bool plain) {
  if (plain) return Numbers(static_cast<std::size_t>(count), 1);
  return {values, values + count};
}

bool valid_list(int count, const int* values, const int* weights, int ranks, bool plain) {
  if (count < 0 || (count > 0 && (values == nullptr || (!plain && weights == nullptr)))) return false;
  for (int i = 0; i < count; ++i) {
    if (values[i] < 0 || values[i] >= ranks || (!plain && weights[i] < 0)) return false;
  }
  return true;
}

}  // namespace

bool cart_create(MPI_Comm old, int dimensions, const int* dims, const int* periods, int reorder, MPI_Comm* made,
                 int& result) {
  if (!eligible(old, reorder) || made == nullptr) return false;
  const auto ranks = grid_ranks(dimensions, dims, periods, size_of(old));
  if (!ranks || *ranks < 2) return false;
  const auto order =
      new_ranks(old, *ranks, [&] { return grid_edges(dimensions, dims, periods, *ranks); }, "MPI_Cart_create");
  if (!order) return false;
  result = make_placed(old, *order, made,
                       [&](MPI_Comm placed) { return PMPI_Cart_create(placed, dimensions, dims, periods, 0, made); });
  return true;
}

bool graph_create(MPI_Comm old, int nodes, const int* index, const int* edges, int reorder, MPI_Comm* made,
                  int& result) {
  if (!eligible(old, reorder) || made == nullptr || !valid_graph(nodes, index, edges, size_of(old))) return false;
  const auto order = new_ranks(old, nodes, [&] { return graph_edges(nodes, index, edges); }, "MPI_Graph_create");
  if (!order) return false;
  result = make_placed(old, *order, made,
                       [&](MPI_Comm placed) { return PMPI_Graph_create(placed, nodes, index, edges, 0, made); });
  return true;
}

bool dist_graph_create(MPI_Comm old, int n, const int* sources, const int* degrees, const int* destinations,
                       const int* weights, MPI_Info info, int reorder, MPI_Comm* made, int& result) {
  if (!eligible(old, reorder) || made == nullptr) return false;
  const int ranks = size_of(old);
  const Declared declared = declared_edges(n, sources, degrees, destinations, weights, ranks);
  if (!agree(old, declared).usable()) return false;
  const std::vector<Edge> edges = gather_edges(old, declared.triples);
  const auto order = new_ranks(old, ranks, [&] { return edges; }, "MPI_Dist_graph_create");
  if (!order) return false;
  // Vertices are new ranks, whichever rank declares their edges, so the arguments stay as they are.
  result = make_placed(old, *order, made, [&](MPI_Comm placed) {
    return PMPI_Dist_graph_create(placed, n, sources, degrees, destinations, weights, info, 0, made);
  });
  return true;
}

bool dist_graph_create_adjacent(MPI_Comm old, int indegree, const int* sources, const int* source_weights,
                                int outdegree, const int* destinations, const int* destination_weights, MPI_Info info,
                                int reorder, MPI_Comm* made, int& result) {
  if (!eligible(old, reorder) || made == nullptr) return false;
  const int ranks = size_of(old);
  const int rank = rank_in(old);
  const bool plain_in = source_weights == unweighted();
  const bool plain_out = destination_weights == unweighted();
  Declared declared;
  declared.valid = valid_list(indegree, sources, source_weights, ranks, plain_in) &&
                   valid_list(outdegree, destinations, destination_weights, ranks, plain_out);
  for (int i = 0; declared.valid && i < outdegree; ++i)
    declared.add(rank, destinations[i], plain_out ? 1 : destination_weights[i], ranks);
  const Agreed agreed = agree(old, declared, indegree > 0 && !plain_in, outdegree > 0 && !plain_out);
  if (!agreed.usable()) return false;
  const std::vector<Edge> edges = gather_edges(old, declared.triples);
  const auto order = new_ranks(old, ranks, [&] { return edges; }, "MPI_Dist_graph_create_adjacent");
  if (!order) return false;
  Neighbours own{list_of(sources, indegree, false), list_of(source_weights, indegree, plain_in),
                 list_of(destinations, outdegree, false), list_of(destination_weights, outdegree, plain_out)};
  result = make_placed(old, *order, made, [&](MPI_Comm placed) {
    Neighbours n;
    const int new_rank = (*order)[static_cast<std::size_t>(rank)];
    const int rc = hand_over(placed, rank, (*order)[static_cast<std::size_t>(new_rank)], own, n);
    if (rc != MPI_SUCCESS) return rc;
    return PMPI_Dist_graph_create_adjacent(
        placed, n.degrees()[0], n.sources.data(), agreed.weighted_in > 0 ? n.source_weights.data() : unweighted(),
        n.degrees()[1], n.destinations.data(), agreed.weighted_out > 0 ? n.destination_weights.data() : unweighted(),
        info, 0, made);
  });
  return true;
}

}  // namespace antiphon::mpi::reordering
