// SPDX-License-Identifier: Apache-2.0
// scatterv, gatherv: the root tells all ranks the sizes of all blocks, which every rank's schedule depends on.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>

#include "antiphon/problem.hpp"

namespace antiphon::mpi {

/// By a broadcast of the library on `comm`. Returns an MPI error code.
int share_counts(Problem& problem, MPI_Comm comm);
/// By `tell`, which gives all ranks the root's sizes and returns an MPI error code.
int share_counts(Problem& problem, const std::function<int(std::int64_t* sizes)>& tell);

}  // namespace antiphon::mpi
