// SPDX-License-Identifier: Apache-2.0
// Multicast's part of the summary.
#pragma once

#include <cstdio>

#include "json/json.hpp"

namespace antiphon::mpi {

/// Sums over all ranks, at rank 0; null where no rank ever asked for a group. Collective over MPI_COMM_WORLD.
Json multicast_row();
void print_multicast(std::FILE* out, const Json& row);

}  // namespace antiphon::mpi
