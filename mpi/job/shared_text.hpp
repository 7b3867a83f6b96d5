// SPDX-License-Identifier: Apache-2.0
// Texts of any length between the ranks of MPI_COMM_WORLD. Both calls are collective.
#pragma once

#include <string>
#include <vector>

namespace antiphon::mpi {

/// Returns the texts of all ranks on rank 0, and none on the others.
std::vector<std::string> gather_texts(const std::string& own);

/// Returns rank 0's text on every rank.
std::string from_rank_0(std::string text);

}  // namespace antiphon::mpi
