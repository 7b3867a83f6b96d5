// SPDX-License-Identifier: Apache-2.0
// What was accelerated: counted per collective and size class while the program runs, printed at MPI_Finalize.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "call/call.hpp"
#include "json/json.hpp"

namespace antiphon::mpi::summary {

/// Whether calls are counted at all.
bool enabled();
/// Counts one call of a kind (kind_of). `bytes`: what this rank hands in (or, at a receiver, gets). Thread-safe.
void count(int kind, std::int64_t bytes, double time_s, const std::string& used);
/// A higher room's part of the summary.
struct Section {
  const char* key;  ///< in the JSON document
  /// Adds up all ranks' figures, on rank 0. Collective over MPI_COMM_WORLD. Null: there is nothing to tell.
  Json (*collect)();
  void (*print)(std::FILE* out, const Json& data);
};
/// Collective over MPI_COMM_WORLD: adds up all ranks and writes to where the settings say, on rank 0.
void write(const std::vector<Section>& sections);

}  // namespace antiphon::mpi::summary
