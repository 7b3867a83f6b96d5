// SPDX-License-Identifier: Apache-2.0
/// Measures a loop of one collective and of computation that takes each rank another time. A rank that need not wait
/// for a late one is earlier at the next call, which measurements of calls alone do not show.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

const char* const usage =
    "usage: mpirun … antiphon-late rest|compute LEAST_S MOST_S CALLS COLLECTIVE:BYTES…\n"
    "Ranks rest or compute for LEAST_S to MOST_S before each call. Prints a JSON object for each collective: seconds "
    "an\n"
    "iteration.\n";

constexpr int calls_before = 10;  ///< the first ones are not measured

/// What all calls use: blocks of one length, to and from each rank.
struct Stage {
  int rank = 0;
  int size = 1;
  int bytes;
  std::vector<char> in, out;
  std::vector<int> counts, offsets;

  explicit Stage(int block_bytes) : bytes(block_bytes) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const auto ranks = static_cast<std::size_t>(size);
    in.resize(static_cast<std::size_t>(bytes) * ranks, 1);
    out.resize(in.size());
    counts.assign(ranks, bytes);
    for (int i = 0; i < size; ++i) offsets.push_back(i * bytes);
  }
};

using Call = std::function<void(Stage&)>;

const std::map<std::string, Call> all_calls = {
    {"bcast", [](Stage& s) { MPI_Bcast(s.out.data(), s.bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }},
    {"reduce", [](Stage& s) { MPI_Reduce(s.in.data(), s.out.data(), s.bytes, MPI_CHAR, MPI_MAX, 0, MPI_COMM_WORLD); }},
    {"allreduce",
     [](Stage& s) { MPI_Allreduce(s.in.data(), s.out.data(), s.bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD); }},
    {"scatter",
     [](Stage& s) { MPI_Scatter(s.in.data(), s.bytes, MPI_CHAR, s.out.data(), s.bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }},
    {"gather",
     [](Stage& s) { MPI_Gather(s.in.data(), s.bytes, MPI_CHAR, s.out.data(), s.bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }},
    {"gatherv",
     [](Stage& s) {
       MPI_Gatherv(s.in.data(), s.bytes, MPI_CHAR, s.out.data(), s.counts.data(), s.offsets.data(), MPI_CHAR, 0,
                   MPI_COMM_WORLD);
     }},
    {"allgather",
     [](Stage& s) { MPI_Allgather(s.in.data(), s.bytes, MPI_CHAR, s.out.data(), s.bytes, MPI_CHAR, MPI_COMM_WORLD); }},
    {"alltoall",
     [](Stage& s) { MPI_Alltoall(s.in.data(), s.bytes, MPI_CHAR, s.out.data(), s.bytes, MPI_CHAR, MPI_COMM_WORLD); }},
    {"alltoallv",
     [](Stage& s) {
       MPI_Alltoallv(s.in.data(), s.counts.data(), s.offsets.data(), MPI_CHAR, s.out.data(), s.counts.data(),
                     s.offsets.data(), MPI_CHAR, MPI_COMM_WORLD);
     }},
};

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
double measure(Stage& stage, const Call& call, int calls, const Between& between) {
  std::mt19937 random(static_cast<unsigned>(stage.rank + 1));
  std::uniform_real_distribution<double> lengths(between.least_s, between.most_s);
  double began_s = 0;
  for (int i = -calls_before; i < calls; ++i) {
    if (i == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      began_s = MPI_Wtime();
    }
    between.pass(lengths(random));
    call(stage);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return (MPI_Wtime() - began_s) / calls;
}

int run(int argc, char** argv) {
  const Between between{std::string(argv[1]) == "compute", std::atof(argv[2]), std::atof(argv[3])};
  const int calls = std::atoi(argv[4]);
  for (int i = 5; i < argc; ++i) {
    const std::string cell = argv[i];
    const std::size_t colon = cell.find(':');
    const auto found = all_calls.find(cell.substr(0, colon));
    const int bytes = colon == std::string::npos ? 0 : std::atoi(cell.c_str() + colon + 1);
    if (found == all_calls.end() || bytes <= 0 || calls <= 0) return 2;
    Stage stage(bytes);
    const double seconds = measure(stage, found->second, calls, between);
    if (stage.rank == 0) std::printf("{\"cell\": \"%s\", \"seconds\": %.9g}\n", cell.c_str(), seconds);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rc = argc < 6 ? 2 : run(argc, argv);
  if (rc != 0) std::fputs(usage, stderr);
  MPI_Finalize();
  return rc;
}
