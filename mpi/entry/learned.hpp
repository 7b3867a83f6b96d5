// SPDX-License-Identifier: Apache-2.0
// What all communicators of this process have learned by trying, also those that are gone: for the summary and for the
// next run.
#pragma once

#include <cstdio>
#include <string>

#include "json/json.hpp"

namespace antiphon::mpi {

class Evidence;

namespace learned {

/// These note what is there. Of evidence that goes, what it says is kept, and offered to evidence like it: programs
/// make communicators anew for each of their steps.
void add(Evidence& evidence);
void remove(const Evidence& evidence);

/// Ends what ranks have begun to agree on; called before MPI_Finalize.
void finish_sharing();

/// Returns the rows of the summary on rank 0. Collective over MPI_COMM_WORLD.
Json rows();
void print(std::FILE* out, const Json& rows);

/// Returns what this rank has learned as a table of rules (docs/reference/rules.md); empty if nothing.
std::string rules();

}  // namespace learned

}  // namespace antiphon::mpi
