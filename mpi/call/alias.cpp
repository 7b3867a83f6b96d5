// SPDX-License-Identifier: Apache-2.0
#include "call/alias.hpp"

namespace antiphon::mpi {

namespace {

bool refuses_movement = false;
bool refuses_reduction = false;

/// Where a rank's own block begins, as MPICH reckons: by the type's size.
const std::byte* own_block(const Side& side, int rank) {
  return side.buffer + side.block_place(rank) * side.info.size_bytes;
}

/// `one` block here, all ranks' blocks there.
bool same_block(const Side& one, const Side& all, int rank) {
  const std::int64_t there = all.block_count(rank);
  // Where counts are given for each rank, they need not be equal.
  if (one.count == 0 || there == 0 || (!all.counts.present() && one.count != there)) return false;
  return one.buffer == own_block(all, rank);
}

}  // namespace

void ask_about_aliases() {
  MPI_Comm alone = MPI_COMM_NULL;
  if (PMPI_Comm_dup(MPI_COMM_SELF, &alone) != MPI_SUCCESS) return;
  PMPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
  int value = 0;
  refuses_movement = PMPI_Gather(&value, 1, MPI_INT, &value, 1, MPI_INT, 0, alone) != MPI_SUCCESS;
  refuses_reduction = PMPI_Allreduce(&value, &value, 1, MPI_INT, MPI_SUM, alone) != MPI_SUCCESS;
  PMPI_Comm_free(&alone);
}

bool refused_as_alias(const Description& d) {
  const Call& call = *d.call;
  if (d.in_place || !d.input.used || !d.output.used) return false;
  if (is_reduction(d.collective)) return refuses_reduction && call.sendbuf == call.recvbuf;
  if (!refuses_movement || call.sendtype != call.recvtype) return false;
  switch (d.collective) {
    case Collective::alltoall: return call.sendbuf == call.recvbuf && call.sendcount == call.recvcount;
    case Collective::alltoallv:
      return call.sendbuf == call.recvbuf && call.sendcounts.same_as(call.recvcounts) &&
             call.sendtypes == call.recvtypes;
    case Collective::scatter:
    case Collective::scatterv: return same_block(d.output, d.input, d.rank);
    default: return same_block(d.input, d.output, d.rank);
  }
}

}  // namespace antiphon::mpi
