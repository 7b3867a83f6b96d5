// SPDX-License-Identifier: Apache-2.0
// Counts what is accelerated and what is not while the program runs, and says why; MPI_Finalize prints it.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <vector>

#include "json/json.hpp"
#include "observe/counted_call.hpp"

namespace antiphon::mpi::summary {

/// Tells whether calls are counted at all.
bool enabled();
/// Begins to count, if that is asked for. Collective over MPI_COMM_WORLD.
void start();

/// Counts a call. It is thread-safe.
void count(const CountedCall& call);

/// Describes a part of the summary that a higher room contributes.
struct Section {
  const char* key;  ///< key in the JSON document
  /// Adds up all ranks' figures, on rank 0; null means that there is nothing to report. Collective over MPI_COMM_WORLD.
  Json (*collect)();
  void (*print)(std::FILE* out, const Json& data);
};
/// Adds up all ranks' figures and writes them, on rank 0, to the places that the settings name. Collective over
/// MPI_COMM_WORLD.
void write(const std::vector<Section>& sections);
/// Returns the communicator of the summary's messages, for its sections.
MPI_Comm own_comm();

}  // namespace antiphon::mpi::summary
