// SPDX-License-Identifier: Apache-2.0
// This file makes the summary's part about messages within nodes.
#pragma once

#include <cstdio>

#include "json/json.hpp"

namespace antiphon::mpi {

/// Returns sums over all ranks, at rank 0; null if no schedule sends anything within a node. Collective over
/// MPI_COMM_WORLD.
Json node_row();
void print_node(std::FILE* out, const Json& row);

}  // namespace antiphon::mpi
