// SPDX-License-Identifier: Apache-2.0
#include "call/alias.hpp"

#include "job/own_comms.hpp"

namespace antiphon::mpi {

namespace {

bool refuses_movement = false;
bool refuses_reduction = false;

/// Returns where a rank's own block begins. MPICH computes that place from the type's size, so this does too.
const std::byte* own_block(const Side& side, int rank) {
  return side.buffer + side.block_place(rank) * side.info.size_bytes;
}

/// Tells whether the single block of `one` is this rank's own block within `all`.
bool same_block(const Side& one, const Side& all, int rank) {
  const std::int64_t there = all.block_count(rank);
  // The counts need not be equal where they are given for each rank.
  if (one.count == 0 || there == 0 || (!all.counts.present() && one.count != there)) return false;
  return one.buffer == own_block(all, rank);
}

}  // namespace

void ask_about_aliases() {
  const MPI_Comm alone = comm_of_self();
  int value = 0;
  refuses_movement = PMPI_Gather(&value, 1, MPI_INT, &value, 1, MPI_INT, 0, alone) != MPI_SUCCESS;
  refuses_reduction = PMPI_Allreduce(&value, &value, 1, MPI_INT, MPI_SUM, alone) != MPI_SUCCESS;
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
