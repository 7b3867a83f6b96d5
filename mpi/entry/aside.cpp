// SPDX-License-Identifier: Apache-2.0
#include "entry/aside.hpp"

#include "entry/waits.hpp"

namespace antiphon::mpi {

namespace {

bool is_large(const Integers& given) { return given.present() && given.small() == nullptr; }

/// Of alltoallw and the neighbour collectives; counts fit int.
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

}  // namespace

bool run_aside(const Call& c, int& result) {
  MPI_Request request = MPI_REQUEST_NULL;
  const auto sn = static_cast<int>(c.sendcount);
  const auto rn = static_cast<int>(c.recvcount);
  if (sn != c.sendcount || rn != c.recvcount || is_large(c.sendcounts) || is_large(c.recvcounts)) return false;
  const int *scounts = c.sendcounts.small(), *sdispls = c.senddispls.small(), *rcounts = c.recvcounts.small(),
            *rdispls = c.recvdispls.small();
  if (c.form != Form::plain) {
    result = start_form(c, &request);
    if (result == MPI_SUCCESS) result = wait_for(request);
    return true;
  }
  switch (c.collective) {
    case Collective::barrier: result = PMPI_Ibarrier(c.comm, &request); break;
    case Collective::bcast: result = PMPI_Ibcast(c.recvbuf, sn, c.sendtype, c.root, c.comm, &request); break;
    case Collective::scatter:
      result = PMPI_Iscatter(c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.root, c.comm, &request);
      break;
    case Collective::scatterv:
      result =
          PMPI_Iscatterv(c.sendbuf, scounts, sdispls, c.sendtype, c.recvbuf, rn, c.recvtype, c.root, c.comm, &request);
      break;
    case Collective::gather:
      result = PMPI_Igather(c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.root, c.comm, &request);
      break;
    case Collective::gatherv:
      result =
          PMPI_Igatherv(c.sendbuf, sn, c.sendtype, c.recvbuf, rcounts, rdispls, c.recvtype, c.root, c.comm, &request);
      break;
    case Collective::allgather:
      result = PMPI_Iallgather(c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.comm, &request);
      break;
    case Collective::allgatherv:
      result = PMPI_Iallgatherv(c.sendbuf, sn, c.sendtype, c.recvbuf, rcounts, rdispls, c.recvtype, c.comm, &request);
      break;
    case Collective::alltoall:
      result = PMPI_Ialltoall(c.sendbuf, sn, c.sendtype, c.recvbuf, rn, c.recvtype, c.comm, &request);
      break;
    case Collective::alltoallv:
      result = PMPI_Ialltoallv(c.sendbuf, scounts, sdispls, c.sendtype, c.recvbuf, rcounts, rdispls, c.recvtype, c.comm,
                               &request);
      break;
    case Collective::reduce:
      result = PMPI_Ireduce(c.sendbuf, c.recvbuf, sn, c.sendtype, c.op, c.root, c.comm, &request);
      break;
    case Collective::allreduce:
      result = PMPI_Iallreduce(c.sendbuf, c.recvbuf, sn, c.sendtype, c.op, c.comm, &request);
      break;
    case Collective::reduce_scatter:
      result = PMPI_Ireduce_scatter(c.sendbuf, c.recvbuf, rcounts, c.sendtype, c.op, c.comm, &request);
      break;
    case Collective::reduce_scatter_block:
      result = PMPI_Ireduce_scatter_block(c.sendbuf, c.recvbuf, rn, c.sendtype, c.op, c.comm, &request);
      break;
    case Collective::scan: result = PMPI_Iscan(c.sendbuf, c.recvbuf, sn, c.sendtype, c.op, c.comm, &request); break;
    case Collective::exscan: result = PMPI_Iexscan(c.sendbuf, c.recvbuf, sn, c.sendtype, c.op, c.comm, &request); break;
  }
  if (result == MPI_SUCCESS) result = wait_for(request);
  return true;
}

}  // namespace antiphon::mpi
