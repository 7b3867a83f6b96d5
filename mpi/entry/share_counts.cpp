// SPDX-License-Identifier: Apache-2.0
#include "entry/share_counts.hpp"

#include <algorithm>
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

std::shared_ptr<std::vector<std::int64_t>> room_for_all(const Problem& p) {
  const auto size = static_cast<std::size_t>(p.size);
  return std::make_shared<std::vector<std::int64_t>>(size * size);
}

int tell_all(Problem& p, MPI_Comm comm) {
  const auto told = room_for_all(p);
  const int rc = PMPI_Allgather(p.send_bytes.data(), p.size, MPI_INT64_T, told->data(), p.size, MPI_INT64_T, comm);
  p.all_counts = told;
  return rc;
}

}  // namespace

int ToldCounts::share(Problem& p, MPI_Comm comm) {
  int differs = 0;
  if (told_) {
    const auto own = told_->begin() + static_cast<std::ptrdiff_t>(p.rank) * p.size;
    differs = std::equal(p.send_bytes.begin(), p.send_bytes.end(), own) ? 0 : 1;
    const int rc = PMPI_Allreduce(MPI_IN_PLACE, &differs, 1, MPI_INT, MPI_MAX, comm);
    if (rc != MPI_SUCCESS) return rc;
    p.all_counts = told_;
    if (differs == 0) return MPI_SUCCESS;
  }
  const int rc = tell_all(p, comm);
  told_ = rc == MPI_SUCCESS ? p.all_counts : nullptr;
  return rc;
}

int share_counts(Problem& p, MPI_Comm comm) {
  if (p.collective == Collective::alltoallv) return tell_all(p, comm);
  return share_counts(p, [&](std::int64_t* sizes) { return PMPI_Bcast(sizes, p.size, MPI_INT64_T, p.root, comm); });
}

int share_counts(Problem& p, const std::function<int(std::int64_t* sizes)>& tell) {
  const int rc = tell(room_for_sizes(p));
  set_offsets(p);
  return rc;
}

int SharedCounts::begin(Problem& p, MPI_Comm comm) {
  if (p.collective == Collective::alltoallv) {
    told_ = room_for_all(p);
    return PMPI_Iallgather(p.send_bytes.data(), p.size, MPI_INT64_T, told_->data(), p.size, MPI_INT64_T, comm,
                           &request_);
  }
  return PMPI_Ibcast(room_for_sizes(p), p.size, MPI_INT64_T, p.root, comm, &request_);
}

bool SharedCounts::ready(Problem& p) {
  if (request_ == MPI_REQUEST_NULL) return true;
  if (!is_over(request_)) return false;
  if (told_) p.all_counts = told_;
  else set_offsets(p);
  return true;
}

}  // namespace antiphon::mpi
