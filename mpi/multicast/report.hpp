// SPDX-License-Identifier: Apache-2.0
// This file makes multicast's part of the summary.
#pragma once

#include <cstdio>

#include "json/json.hpp"

namespace antiphon::mpi {

/// Returns sums over all ranks, at rank 0; null if no rank ever asks for a group. Collective over MPI_COMM_WORLD.
Json multicast_row();
void print_multicast(std::FILE* out, const Json& row);

}  // namespace antiphon::mpi
