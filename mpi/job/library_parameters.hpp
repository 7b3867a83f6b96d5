// SPDX-License-Identifier: Apache-2.0
// Parameters of the MPI library whose defaults do not suit the network: how Open MPI sends long messages over TCP. It
// reads them once, in MPI_Init.
#pragma once

#include <string>

namespace antiphon::mpi {

/// Sets the parameter in this process's environment, where that is wanted and the user has set none of its kind. Ranks
/// may differ: a sender decides for its own messages, and every receiver takes what comes.
void set_library_parameters();

/// Takes it out again, so that programs which this one starts have an environment like the user's.
void unset_library_parameters();

/// What this process did, and why; empty texts: the library has no such parameter.
struct LibraryParameters {
  std::string value, source;
};
const LibraryParameters& library_parameters();

}  // namespace antiphon::mpi
