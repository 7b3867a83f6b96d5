// SPDX-License-Identifier: Apache-2.0
#include "entry/library_collectives.hpp"

#include "entry/waits.hpp"

namespace antiphon::mpi {

namespace {

/// Waits for a collective that `rc` says to be started.
int finish(int rc, MPI_Request& request) { return rc == MPI_SUCCESS ? wait_for(request) : rc; }

}  // namespace

int LibraryCollectives::greatest(std::span<int> numbers) const {
  const auto count = static_cast<int>(numbers.size());
  if (!waits_here_) return PMPI_Allreduce(MPI_IN_PLACE, numbers.data(), count, MPI_INT, MPI_MAX, comm_);
  MPI_Request request = MPI_REQUEST_NULL;
  return finish(PMPI_Iallreduce(MPI_IN_PLACE, numbers.data(), count, MPI_INT, MPI_MAX, comm_, &request), request);
}

int LibraryCollectives::tell(std::span<std::int64_t> numbers, int root) const {
  const auto count = static_cast<int>(numbers.size());
  if (!waits_here_) return PMPI_Bcast(numbers.data(), count, MPI_INT64_T, root, comm_);
  MPI_Request request = MPI_REQUEST_NULL;
  return finish(PMPI_Ibcast(numbers.data(), count, MPI_INT64_T, root, comm_, &request), request);
}

int LibraryCollectives::gather(std::span<const std::int64_t> numbers, std::int64_t* all) const {
  const auto count = static_cast<int>(numbers.size());
  if (!waits_here_) return PMPI_Allgather(numbers.data(), count, MPI_INT64_T, all, count, MPI_INT64_T, comm_);
  MPI_Request request = MPI_REQUEST_NULL;
  return finish(PMPI_Iallgather(numbers.data(), count, MPI_INT64_T, all, count, MPI_INT64_T, comm_, &request), request);
}

}  // namespace antiphon::mpi
