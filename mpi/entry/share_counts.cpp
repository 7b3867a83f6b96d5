// SPDX-License-Identifier: Apache-2.0
#include "entry/share_counts.hpp"

#include <numeric>

#include "run/library_progress.hpp"

namespace antiphon::mpi {

namespace {

std::int64_t* room_for_sizes(Problem& p) {
  auto& sizes = p.collective == Collective::scatterv ? p.send_bytes : p.recv_bytes;
  sizes.resize(static_cast<std::size_t>(p.size));
  return sizes.data();
}

/// Puts the blocks one after the other on ranks that have no offsets of their own.
void set_offsets(Problem& p) {
  if (p.rank == p.root) return;
  const auto& sizes = p.collective == Collective::scatterv ? p.send_bytes : p.recv_bytes;
  auto& offsets = p.collective == Collective::scatterv ? p.send_offsets : p.recv_offsets;
  offsets.resize(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), std::int64_t{0});
}

}  // namespace

int share_counts(Problem& p, MPI_Comm comm) {
  return share_counts(p, [&](std::int64_t* sizes) { return PMPI_Bcast(sizes, p.size, MPI_INT64_T, p.root, comm); });
}

int share_counts(Problem& p, const std::function<int(std::int64_t* sizes)>& tell) {
  const int rc = tell(room_for_sizes(p));
  set_offsets(p);
  return rc;
}

int SharedCounts::begin(Problem& p, MPI_Comm comm) {
  return PMPI_Ibcast(room_for_sizes(p), p.size, MPI_INT64_T, p.root, comm, &request_);
}

bool SharedCounts::ready(Problem& p) {
  if (request_ == MPI_REQUEST_NULL) return true;
  if (!is_over(request_)) return false;
  set_offsets(p);
  return true;
}

}  // namespace antiphon::mpi
