// SPDX-License-Identifier: Apache-2.0
#include "entry/share_counts.hpp"

#include <numeric>

namespace antiphon::mpi {

int share_counts(Problem& p, MPI_Comm comm) {
  return share_counts(p, [&](std::int64_t* sizes) { return PMPI_Bcast(sizes, p.size, MPI_INT64_T, p.root, comm); });
}

int share_counts(Problem& p, const std::function<int(std::int64_t* sizes)>& tell) {
  auto& sizes = p.collective == Collective::scatterv ? p.send_bytes : p.recv_bytes;
  auto& offsets = p.collective == Collective::scatterv ? p.send_offsets : p.recv_offsets;
  sizes.resize(static_cast<std::size_t>(p.size));
  const int rc = tell(sizes.data());
  if (p.rank != p.root) {
    offsets.resize(sizes.size());
    std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), std::int64_t{0});
  }
  return rc;
}

}  // namespace antiphon::mpi
