// SPDX-License-Identifier: Apache-2.0
// Counts what is accelerated, per collective and size class, while the program runs; MPI_Finalize prints it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "call/call.hpp"
#include "json/json.hpp"

namespace antiphon::mpi::summary {

/// Tells whether calls are counted at all.
bool enabled();
/// Counts one call of a kind (kind_of). `bytes` is what this rank hands in (or, at a receiver, gets). It is
/// thread-safe.
void count(int kind, std::int64_t bytes, double time_s, const std::string& used);
/// Describes a part of the summary that a higher room contributes.
struct Section {
  const char* key;  ///< key in the JSON document
  /// Adds up all ranks' figures, on rank 0; null means that there is nothing to report. Collective over MPI_COMM_WORLD.
  Json (*collect)();
  void (*print)(std::FILE* out, const Json& data);
};
/// Adds up all ranks' figures and writes them, on rank 0, to the place that the settings name. Collective over
/// MPI_COMM_WORLD.
void write(const std::vector<Section>& sections);

}  // namespace antiphon::mpi::summary
