// SPDX-License-Identifier: Apache-2.0
// Ranks tell each other the sizes of blocks that their schedules depend on: the root of a scatterv or gatherv those of
// all blocks, each rank of an alltoallv those of its own.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "antiphon/problem.hpp"
#include "entry/library_collectives.hpp"

namespace antiphon::mpi {

/// Shares the sizes by a collective of the library. Returns an MPI error code.
int share_counts(Problem& problem, const LibraryCollectives& library);
/// Shares the sizes by `tell`, which gives all ranks the root's sizes and returns an MPI error code.
int share_counts(Problem& problem, const std::function<int(std::int64_t* sizes)>& tell);

/// Keeps the counts that ranks have told in a communicator's alltoallv. Where all have them again, one flag says so.
class ToldCounts {
 public:
  /// Shares the sizes by collectives of the library. Returns an MPI error code.
  int share(Problem& problem, const LibraryCollectives& library);

 private:
  std::shared_ptr<const std::vector<std::int64_t>> told_;
};

/// Shares the sizes without waiting, for a call that is started now. All ranks begin in the same call.
class SharedCounts {
 public:
  /// The problem's sizes must stay where they are until ready(). Returns an MPI error code.
  int begin(Problem& problem, MPI_Comm comm);
  /// Tells whether the problem has all sizes by now; true where nothing was begun. The caller holds the operations'
  /// Lock.
  bool ready(Problem& problem);

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::shared_ptr<std::vector<std::int64_t>> told_;  ///< alltoallv
};

}  // namespace antiphon::mpi
