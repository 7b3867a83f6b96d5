// SPDX-License-Identifier: Apache-2.0
#include "entry/share_counts.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

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

int tell_all(Problem& p, const LibraryCollectives& library) {
  const auto told = room_for_all(p);
  const int rc = library.gather(p.send_bytes, told->data());
  p.all_counts = told;
  return rc;
}

}  // namespace

int ToldCounts::share(Problem& p, const LibraryCollectives& library) {
  int differs = 0;
  if (told_) {
    const auto own = told_->begin() + static_cast<std::ptrdiff_t>(p.rank) * p.size;
    differs = std::equal(p.send_bytes.begin(), p.send_bytes.end(), own) ? 0 : 1;
    const int rc = library.greatest({&differs, 1});
    if (rc != MPI_SUCCESS) return rc;
    p.all_counts = told_;
    if (differs == 0) return MPI_SUCCESS;
  }
  const int rc = tell_all(p, library);
  told_ = rc == MPI_SUCCESS ? p.all_counts : nullptr;
  return rc;
}

int share_counts(Problem& p, const LibraryCollectives& library) {
  if (p.collective == Collective::alltoallv) return tell_all(p, library);
  const auto size = static_cast<std::size_t>(p.size);
  return share_counts(p, [&](std::int64_t* sizes) { return library.tell({sizes, size}, p.root); });
}

int share_counts(Problem& p, const std::function<int(std::int64_t* sizes)>& tell) {
  const int rc = tell(room_for_sizes(p));
  set_offsets(p);
  return rc;
}

int SharedCounts::begin(Problem& p, MPI_Comm comm) {
  told_ = nullptr;
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
  if (told_) p.all_counts = std::move(told_);
  else set_offsets(p);
  return true;
}

}  // namespace antiphon::mpi
