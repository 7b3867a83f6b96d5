// SPDX-License-Identifier: Apache-2.0
#include "entry/aside.hpp"

#include <array>
#include <vector>

#include "entry/waits.hpp"

namespace antiphon::mpi {

namespace {

bool is_large(const Integers& given) { return given.present() && given.small() == nullptr; }

/// Starts alltoallw or a neighbour collective; counts fit int.
int start_form(const Call& c, MPI_Request* request) {
  const auto sn = static_cast<int>(c.sendcount);
  const auto rn = static_cast<int>(c.recvcount);
  const int *scounts = c.sendcounts.small(), *sdispls = c.senddispls.small(), *rcounts = c.recvcounts.small(),
            *rdispls = c.recvdispls.small();
  switch (c.form) {
    case Form::alltoallw:
      return PMPI_Ialltoallw(c.sendbuf, scounts, sdispls, c.sendtypes, c.recvbuf, rcounts, rdispls, c.recvtypes, c.comm,
                             request);
    case Form::neighbor_allgather:
      return PMPI_Ineighbor_allgather(c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.comm, request);
    case Form::neighbor_allgatherv:
      return PMPI_Ineighbor_allgatherv(c.sendbuf, sn, c.sendtype, c.recvbuf, rcounts, rdispls, c.recvtype, c.comm,
                                       request);
    case Form::neighbor_alltoall:
      return PMPI_Ineighbor_alltoall(c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.comm, request);
    case Form::neighbor_alltoallv:
      return PMPI_Ineighbor_alltoallv(c.sendbuf, scounts, sdispls, c.sendtype, c.recvbuf, rcounts, rdispls, c.recvtype,
                                      c.comm, request);
    default:
      return PMPI_Ineighbor_alltoallw(
          c.sendbuf, scounts, reinterpret_cast<const MPI_Aint*>(c.senddispls.large()), c.sendtypes, c.recvbuf, rcounts,
          reinterpret_cast<const MPI_Aint*>(c.recvdispls.large()), c.recvtypes, c.comm, request);
  }
}

/// Starts a plain collective that moves data; counts fit int.
int start_movement(const Call& c, MPI_Request* request) {
  const auto sn = static_cast<int>(c.sendcount);
  const auto rn = static_cast<int>(c.recvcount);
  const int *scounts = c.sendcounts.small(), *sdispls = c.senddispls.small(), *rcounts = c.recvcounts.small(),
            *rdispls = c.recvdispls.small();
  switch (c.collective) {
    case Collective::barrier: return PMPI_Ibarrier(c.comm, request);
    case Collective::bcast: return PMPI_Ibcast(c.recvbuf, sn, c.sendtype, c.root, c.comm, request);
    case Collective::scatter:
      return PMPI_Iscatter(c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.root, c.comm, request);
    case Collective::scatterv:
      return PMPI_Iscatterv(c.sendbuf, scounts, sdispls, c.sendtype, c.recvbuf, rn, c.recvtype, c.root, c.comm,
                            request);
    case Collective::gather:
      return PMPI_Igather(c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.root, c.comm, request);
    case Collective::gatherv:
      return PMPI_Igatherv(c.sendbuf, sn, c.sendtype, c.recvbuf, rcounts, rdispls, c.recvtype, c.root, c.comm, request);
    case Collective::allgather:
      return PMPI_Iallgather(c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.comm, request);
    case Collective::allgatherv:
      return PMPI_Iallgatherv(c.sendbuf, sn, c.sendtype, c.recvbuf, rcounts, rdispls, c.recvtype, c.comm, request);
    case Collective::alltoall:
      return PMPI_Ialltoall(c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.comm, request);
    default:
      return PMPI_Ialltoallv(c.sendbuf, scounts, sdispls, c.sendtype, c.recvbuf, rcounts, rdispls, c.recvtype, c.comm,
                             request);
  }
}

/// Starts a reduction; counts fit int.
int start_reduction(const Call& c, MPI_Request* request) {
  const auto sn = static_cast<int>(c.sendcount);
  const auto rn = static_cast<int>(c.recvcount);
  const int* const rcounts = c.recvcounts.small();
  switch (c.collective) {
    case Collective::reduce: return PMPI_Ireduce(c.sendbuf, c.recvbuf, sn, c.sendtype, c.op, c.root, c.comm, request);
    case Collective::allreduce: return PMPI_Iallreduce(c.sendbuf, c.recvbuf, sn, c.sendtype, c.op, c.comm, request);
    case Collective::reduce_scatter:
      return PMPI_Ireduce_scatter(c.sendbuf, c.recvbuf, rcounts, c.sendtype, c.op, c.comm, request);
    case Collective::reduce_scatter_block:
      return PMPI_Ireduce_scatter_block(c.sendbuf, c.recvbuf, rn, c.sendtype, c.op, c.comm, request);
    case Collective::scan: return PMPI_Iscan(c.sendbuf, c.recvbuf, sn, c.sendtype, c.op, c.comm, request);
    default: return PMPI_Iexscan(c.sendbuf, c.recvbuf, sn, c.sendtype, c.op, c.comm, request);
  }
}

int start(const Call& c, MPI_Request* request) {
  if (c.form != Form::plain) return start_form(c, request);
  return is_reduction(c.collective) ? start_reduction(c, request) : start_movement(c, request);
}

bool fits_int(std::int64_t count) { return count == static_cast<int>(count); }

/// Makes large counts and places small where they fit. Only the root may have any, and the others must start the same
/// kind of call. Returns false if one does not fit.
bool make_small(Integers& given, int size, std::vector<int>& room) {
  if (!is_large(given)) return true;
  for (int i = 0; i < size; ++i) {
    if (!fits_int(given[i])) return false;
    room.push_back(static_cast<int>(given[i]));
  }
  given = Integers(room.data());
  return true;
}

}  // namespace

bool run_aside(const Call& given, int& result) {
  Call c = given;
  if (!fits_int(c.sendcount) || !fits_int(c.recvcount)) return false;
  if (c.form != Form::plain && (is_large(c.sendcounts) || is_large(c.recvcounts))) return false;
  std::array<std::vector<int>, 4> rooms;
  if (c.form == Form::plain) {
    int size = 0;
    PMPI_Comm_size(c.comm, &size);
    if (!make_small(c.sendcounts, size, rooms[0]) || !make_small(c.senddispls, size, rooms[1]) ||
        !make_small(c.recvcounts, size, rooms[2]) || !make_small(c.recvdispls, size, rooms[3]))
      return false;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  result = start(c, &request);
  if (result == MPI_SUCCESS) result = wait_for(request);
  return true;
}

}  // namespace antiphon::mpi
