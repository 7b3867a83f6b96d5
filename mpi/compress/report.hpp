// SPDX-License-Identifier: Apache-2.0
// What compression did, for the summary.
#pragma once

#include <cstdio>

#include "json/json.hpp"

namespace antiphon::mpi {

/// Collective over MPI_COMM_WORLD: one row per communicator (by name) and class of link, over all ranks; on rank 0,
/// elsewhere nothing. Empty while messages are not framed.
Json compression_rows();
void print_compression(std::FILE* out, const Json& rows);

}  // namespace antiphon::mpi
