// SPDX-License-Identifier: Apache-2.0
// What was accelerated: counted per collective and size class while the program runs, printed at MPI_Finalize.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "call/call.hpp"
#include "job/clock.hpp"

namespace antiphon::mpi {

namespace summary {

/// Whether calls are counted at all.
bool enabled();
/// Counts one call of a kind (kind_of). `bytes`: what this rank hands in (or, at a receiver, gets). Thread-safe.
void count(int kind, std::int64_t bytes, double time_s, const std::string& used);
/// Collective over MPI_COMM_WORLD: adds up all ranks and writes to where the settings say, on rank 0.
void write();

}  // namespace summary
}  // namespace antiphon::mpi
