// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <functional>

#include "json/json.hpp"

namespace antiphon::mpi {

/// Merges a value of each rank into one, along a tree, so that no rank has more than a few to read. Returns it on rank
/// 0, and null elsewhere. Collective over `comm`, which has no messages of others.
Json merge_over_ranks(Json own, const std::function<Json(const Json&, const Json&)>& merge, MPI_Comm comm);

}  // namespace antiphon::mpi
