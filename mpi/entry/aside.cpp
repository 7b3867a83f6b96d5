// SPDX-License-Identifier: Apache-2.0
#include "entry/aside.hpp"

#include "call/narrowed.hpp"
#include "call/significant.hpp"
#include "entry/waits.hpp"

namespace antiphon::mpi {

namespace {

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

/// Returns the call with small counts and places. Only the root may have large ones, and the others must start the same
/// kind of call.
Call with_small_counts(Call c, Narrowed& narrowed) {
  const Significant lengths = significant(c);
  c.sendcount = narrowed.count(c.sendcount, lengths.send);
  c.recvcount = narrowed.count(c.recvcount, lengths.receive);
  c.sendcounts = narrowed.array(c.sendcounts, lengths.send);
  c.recvcounts = narrowed.array(c.recvcounts, lengths.receive);
  if (c.form == Form::neighbor_alltoallw) return c;  // its places are never small
  c.senddispls = narrowed.array(c.senddispls, lengths.send);
  c.recvdispls = narrowed.array(c.recvdispls, lengths.receive);
  return c;
}

}  // namespace

bool run_aside(const Call& given, int& result) {
  Narrowed narrowed;
  const Call c = with_small_counts(given, narrowed);
  if (!narrowed.fits()) return false;
  MPI_Request request = MPI_REQUEST_NULL;
  result = start(c, &request);
  if (result == MPI_SUCCESS) result = wait_for(request);
  return true;
}

}  // namespace antiphon::mpi
