// SPDX-License-Identifier: Apache-2.0
// What the ranks of MPI_COMM_WORLD tell each other in MPI_Init. All calls are collective. They go along one tree, so a
// rank opens few connections for them: the library's own collectives would open some for each kind of call, and a
// gathering of texts one from every rank to rank 0.
#pragma once

#include <string>
#include <vector>

namespace antiphon::mpi {

/// Returns the texts of all ranks on rank 0, and none on the others.
std::vector<std::string> gather_texts(const std::string& own);

/// Returns rank 0's text on every rank.
std::string from_rank_0(std::string text);

}  // namespace antiphon::mpi
