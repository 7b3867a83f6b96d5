// SPDX-License-Identifier: Apache-2.0
/// Measures a loop of one collective and of computation that takes each rank another time. A rank that need not wait
/// for a late one is earlier at the next call, which measurements of calls alone do not show.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "../collectives/program.hpp"
#include "../collectives/report.hpp"
#include "../collectives/workload.hpp"

namespace {

const char* const usage =
    "usage: mpirun … antiphon-late rest|compute LEAST_S MOST_S CALLS COLLECTIVE:BYTES…\n"
    "Ranks rest or compute for LEAST_S to MOST_S before each call.\n"
    "Prints a JSON object for each collective: seconds of an iteration.\n";

constexpr int calls_before = 10;  ///< the first ones are not measured

/// What ranks do between calls.
struct Between {
  bool computes = false;  ///< else they leave their core to others
  double least_s = 0;
  double most_s = 0;

  void pass(double seconds) const {
    if (!computes) return std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const double end_s = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end_s) {
    }
  }
};

/// Returns how long an iteration takes in the mean.
double measure(bench::Workload& work, int rank, int calls, const Between& between) {
  std::mt19937 random(static_cast<unsigned>(rank + 1));
  std::uniform_real_distribution<double> lengths(between.least_s, between.most_s);
  double began_s = 0;
  for (int i = -calls_before; i < calls; ++i) {
    if (i == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      began_s = MPI_Wtime();
    }
    between.pass(lengths(random));
    work.call(MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return (MPI_Wtime() - began_s) / calls;
}

int run(int argc, char** argv, int rank) {
  if (argc < 6) throw bench::UsageError(usage);
  const Between between{std::string(argv[1]) == "compute", std::atof(argv[2]), std::atof(argv[3])};
  const int calls = std::atoi(argv[4]);
  const auto names = bench::collective_names();
  for (int i = 5; i < argc; ++i) {
    const std::string cell = argv[i];
    const std::size_t colon = cell.find(':');
    const int bytes = colon == std::string::npos ? 0 : std::atoi(cell.c_str() + colon + 1);
    const std::string collective = cell.substr(0, colon);
    const bool known = std::find(names.begin(), names.end(), collective) != names.end();
    if (!known || bytes <= 0 || calls <= 0) throw bench::UsageError(usage);
    bench::Workload work(collective, bytes, 0, {}, MPI_COMM_WORLD);
    work.prepare();
    const double seconds = measure(work, rank, calls, between);
    if (rank == 0) bench::print_line({{"cell", cell}, {"seconds", seconds}});
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return bench::run_program(argc, argv, run); }
