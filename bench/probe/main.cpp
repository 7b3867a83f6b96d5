// SPDX-License-Identifier: Apache-2.0
/// Measures a network with plain point-to-point messages: `--do EXPERIMENT;KEY=VALUE;…`, one after the other.
/// `antiphon probe` starts this program, decides what to measure, and interprets the results.
#include <cstdio>
#include <exception>
#include <string_view>

#include "experiments.hpp"

namespace {

constexpr int exit_usage = 2;
const char* const usage =
    "usage: mpirun … antiphon-probe --do EXPERIMENT[;KEY=VALUE]… [--do …]      (normally started by `antiphon probe`)\n"
    "Prints one JSON object per line on stdout.\n";

probe::Experiment find(const std::string& name) {
  for (const auto& entry : probe::experiments) {
    if (name == entry.name) return entry.run;
  }
  throw probe::UsageError("no experiment named '" + name + "'");
}

std::vector<probe::Task> parse(int argc, char** argv) {
  std::vector<probe::Task> tasks;
  for (int i = 1; i < argc; i += 2) {
    if (std::string_view(argv[i]) != "--do" || i + 1 == argc)
      throw probe::UsageError(std::string(argv[i]) + ": unknown, or its value is missing");
    tasks.emplace_back(argv[i + 1]);
    find(tasks.back().experiment());
  }
  return tasks;
}

void run(int argc, char** argv, probe::World& world) {
  for (const probe::Task& task : parse(argc, argv)) {
    const double start = probe::now_ns();
    find(task.experiment())(world, task);
    world.quiet_barrier();
    if (world.is_root()) {
      probe::print_line({{"event", "done"},
                         {"experiment", task.experiment()},
                         {"label", task.text("label", "")},
                         {"seconds", (probe::now_ns() - start) * 1e-9}});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int code = 0;
  try {
    probe::World world;
    if (argc < 2 || std::string_view(argv[1]) == "--help") {
      if (rank == 0) std::fputs(usage, stdout);
    } else {
      run(argc, argv, world);
    }
  } catch (const probe::UsageError& error) {  // the same on all ranks
    if (rank == 0) std::fprintf(stderr, "error: %s\n%s", error.what(), usage);
    code = exit_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return code;
}
