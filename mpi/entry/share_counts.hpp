// SPDX-License-Identifier: Apache-2.0
// The root of a scatterv or gatherv tells all ranks the sizes of all blocks, because every rank's schedule depends on
// them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>

#include "antiphon/problem.hpp"

namespace antiphon::mpi {

/// Shares the sizes by a broadcast of the library on `comm`. Returns an MPI error code.
int share_counts(Problem& problem, MPI_Comm comm);
/// Shares the sizes by `tell`, which gives all ranks the root's sizes and returns an MPI error code.
int share_counts(Problem& problem, const std::function<int(std::int64_t* sizes)>& tell);

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
};

}  // namespace antiphon::mpi
