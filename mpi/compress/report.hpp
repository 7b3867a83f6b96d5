// SPDX-License-Identifier: Apache-2.0
// This file reports what compression did, for the summary.
#pragma once

#include <cstdio>

#include "json/json.hpp"

namespace antiphon::mpi {

/// Returns, on rank 0, one row for each communicator (by name) and class of link, over all ranks. The result is empty
/// on the other ranks, and while messages are not framed. Collective over MPI_COMM_WORLD.
Json compression_rows();
/// Returns in words what is encoded in this run, or why nothing is; null if nobody asked for compression.
Json compression_terms();
void print_compression_terms(std::FILE* out, const Json& terms);
void print_compression(std::FILE* out, const Json& rows);

}  // namespace antiphon::mpi
