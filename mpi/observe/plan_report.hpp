// SPDX-License-Identifier: Apache-2.0
// This file makes the plan's part of the summary: what of it was used, and what that is expected to save.
#pragma once

#include <cstdio>

#include "json/json.hpp"

namespace antiphon::mpi {

/// Returns sums over all ranks, at rank 0; null without a plan. Collective over MPI_COMM_WORLD.
Json plan_row();
void print_plan(std::FILE* out, const Json& row);

}  // namespace antiphon::mpi
