// SPDX-License-Identifier: Apache-2.0
/// Times MPI collectives: the library's, Antiphon's choice and forced algorithms, interleaved in one run.
#include <mpi.h>

#include <cstdio>

#include "library_algorithms.hpp"
#include "options.hpp"
#include "overhead.hpp"
#include "program.hpp"
#include "session.hpp"

namespace {

int run(int argc, char** argv, int rank) {
  const bench::Options options = bench::parse_options(argc, argv);
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

int main(int argc, char** argv) { return bench::run_program(argc, argv, run); }
