// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "options.hpp"

namespace bench {

/// Runs `run(argc, argv, rank)` between MPI_Init and MPI_Finalize. Returns its exit code, or 2 for wrong usage.
template <typename Run>
int run_program(int argc, char** argv, Run run) {
  constexpr int exit_usage = 2;
  // A progress thread (ANTIPHON_PROGRESS) needs this level; without one, no level that costs the library locks.
  const char* const progress = std::getenv("ANTIPHON_PROGRESS");
  const bool has_thread = progress != nullptr && std::strcmp(progress, "thread") == 0;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, has_thread ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int code = exit_usage;
  try {
    code = run(argc, argv, rank);
  } catch (const UsageError& error) {  // the same on all ranks
    if (rank == 0) std::fprintf(stderr, "error: %s\nhint: --help shows the usage\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: rank %d: %s\n", rank, error.what());
    PMPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return code;
}

}  // namespace bench
