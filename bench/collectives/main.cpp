// SPDX-License-Identifier: Apache-2.0
/// Times MPI collectives: the library's, Antiphon's choice and forced algorithms, interleaved in one run.
#include <mpi.h>

#include <cstdio>
#include <exception>

#include "library_algorithms.hpp"
#include "options.hpp"
#include "overhead.hpp"
#include "session.hpp"

namespace {

constexpr int exit_usage = 2;

int run(const bench::Options& options, int rank) {
  if (options.help) {
    if (rank == 0) std::fputs(bench::usage, stdout);
    return 0;
  }
  if (options.list_library) {
    if (rank == 0) bench::print_library_algorithms();
    return 0;
  }
  if (options.overhead) return bench::measure_overhead(rank);
  return bench::Session(options, MPI_COMM_WORLD).run();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int code = exit_usage;
  try {
    code = run(bench::parse_options(argc, argv), rank);
  } catch (const bench::UsageError& error) {  // the same on all ranks
    if (rank == 0) std::fprintf(stderr, "error: %s\nhint: --help shows the usage\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: rank %d: %s\n", rank, error.what());
    PMPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return code;
}
