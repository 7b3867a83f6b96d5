// SPDX-License-Identifier: Apache-2.0
#include "call/significant.hpp"

#include "call/neighbours.hpp"

namespace antiphon::mpi {

namespace {

/// Between two groups a rank may be neither root nor leaf: it is in the root's group.
Significant significant_to(bool root, bool leaf, const Call& call, int length) {
  const bool scatters = call.collective == Collective::scatter || call.collective == Collective::scatterv;
  const bool gathers = call.collective == Collective::gather || call.collective == Collective::gatherv;
  const bool in_place = call.sendbuf == MPI_IN_PLACE && !is_reduction(call.collective);
  const bool sends = !in_place && (scatters ? root : gathers ? leaf : root || leaf);
  const bool receives = call.recvbuf != MPI_IN_PLACE && (gathers ? root : leaf);
  return {sends ? length : 0, receives ? length : 0};
}

}  // namespace

Significant significant(const Call& call, int rank, int size) {
  return significant_to(rank == call.root, true, call, size);
}

Significant significant(const Call& call) {
  if (call.comm == MPI_COMM_NULL) return {};
  if (has_neighbours(call.form)) {
    const NeighbourLists lists = neighbours_of(call.comm);
    return {static_cast<int>(lists.destinations.size()), static_cast<int>(lists.sources.size())};
  }
  int between_groups = 0, rank = 0, length = 0;
  PMPI_Comm_test_inter(call.comm, &between_groups);
  if (between_groups == 0) {
    PMPI_Comm_rank(call.comm, &rank);
    PMPI_Comm_size(call.comm, &length);
    return significant(call, rank, length);
  }
  // Arrays are by the other group's ranks, except where each group deals out a result among its own.
  if (call.collective == Collective::reduce_scatter) PMPI_Comm_size(call.comm, &length);
  else PMPI_Comm_remote_size(call.comm, &length);
  return significant_to(call.root == MPI_ROOT, call.root >= 0, call, length);
}

}  // namespace antiphon::mpi
