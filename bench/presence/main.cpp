// SPDX-License-Identifier: Apache-2.0
/// Measures short calls as a program makes them. It is the same program with a preload object and without, so that
/// launches of both kinds show what the object costs.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

const char* const usage =
    "usage: mpirun … antiphon-presence SECONDS        (normally started by `antiphon bench --presence`)\n"
    "Prints one JSON object a call on stdout: seconds of one call, a sample for each batch of calls.\n";

constexpr int longest_bytes = 1024;
constexpr int most_calls = 2000;
constexpr double batch_s = 4e-3;  ///< long beside the clock's resolution and the barrier before it

/// What all calls use.
struct Stage {
  int rank = 0;
  int size = 1;
  std::vector<char> in, out;

  Stage() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const auto bytes = static_cast<std::size_t>(longest_bytes) * static_cast<std::size_t>(std::max(size, 2));
    in.resize(bytes, 1);
    out.resize(bytes);
  }
  [[nodiscard]] int left() const { return (rank + size - 1) % size; }
  [[nodiscard]] int right() const { return (rank + 1) % size; }
};

struct Measured {
  std::string call;
  int bytes = 0;
  std::function<void()> run;
  int calls = 1;  ///< in a batch
  std::vector<double> samples_s;
};

void exchange_halos(Stage& s, int bytes) {
  MPI_Request requests[4];
  MPI_Irecv(s.out.data(), bytes, MPI_CHAR, s.left(), 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(s.out.data() + bytes, bytes, MPI_CHAR, s.right(), 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(s.in.data(), bytes, MPI_CHAR, s.right(), 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(s.in.data() + bytes, bytes, MPI_CHAR, s.left(), 1, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

std::vector<Measured> all_calls(Stage& s) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  std::vector<Measured> calls{{"barrier", 0, [=] { MPI_Barrier(comm); }}};
  for (const int bytes : {8, longest_bytes}) {
    const int doubles = bytes / 8;
    calls.push_back({"bcast", bytes, [=, &s] { MPI_Bcast(s.out.data(), bytes, MPI_CHAR, 0, comm); }});
    calls.push_back(
        {"reduce", bytes, [=, &s] { MPI_Reduce(s.in.data(), s.out.data(), doubles, MPI_DOUBLE, MPI_SUM, 0, comm); }});
    calls.push_back({"allreduce", bytes,
                     [=, &s] { MPI_Allreduce(s.in.data(), s.out.data(), doubles, MPI_DOUBLE, MPI_SUM, comm); }});
    calls.push_back({"alltoall", bytes,
                     [=, &s] { MPI_Alltoall(s.in.data(), bytes, MPI_CHAR, s.out.data(), bytes, MPI_CHAR, comm); }});
    calls.push_back({"sendrecv", bytes, [=, &s] {
                       MPI_Sendrecv(s.in.data(), bytes, MPI_CHAR, s.right(), 0, s.out.data(), bytes, MPI_CHAR, s.left(),
                                    0, comm, MPI_STATUS_IGNORE);
                     }});
    calls.push_back({"halo exchange", bytes, [=, &s] { exchange_halos(s, bytes); }});
    calls.push_back({"iallreduce, wait", bytes, [=, &s] {
                       MPI_Request request;
                       MPI_Iallreduce(s.in.data(), s.out.data(), doubles, MPI_DOUBLE, MPI_SUM, comm, &request);
                       MPI_Wait(&request, MPI_STATUS_IGNORE);
                     }});
  }
  return calls;
}

/// Returns the time of a batch on the slowest rank, which all ranks know.
double batch_seconds(const Measured& m) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double began_s = MPI_Wtime();
  for (int i = 0; i < m.calls; ++i) m.run();
  double seconds = MPI_Wtime() - began_s;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/// Finds how many calls make a batch. The first one, with its connections, does not count.
void calibrate(Measured& m) {
  batch_seconds(m);
  m.calls = 4;
  const double call_s = std::max(batch_seconds(m) / m.calls, 1e-9);
  m.calls = static_cast<int>(std::clamp(batch_s / call_s, 1.0, static_cast<double>(most_calls)));
}

void print(const Measured& m, int ranks) {
  std::printf(R"({"event":"presence","call":"%s","bytes":%d,"ranks":%d,"calls_per_sample":%d,"samples":[)",
              m.call.c_str(), m.bytes, ranks, m.calls);
  for (std::size_t i = 0; i < m.samples_s.size(); ++i) std::printf("%s%.9g", i == 0 ? "" : ",", m.samples_s[i]);
  std::printf("]}\n");
}

void measure(double budget_s) {
  Stage stage;
  std::vector<Measured> calls = all_calls(stage);
  for (Measured& m : calls) calibrate(m);
  const double began_s = MPI_Wtime();
  for (int goes_on = 1; goes_on != 0;) {
    for (Measured& m : calls) m.samples_s.push_back(batch_seconds(m) / m.calls);
    goes_on = MPI_Wtime() - began_s < budget_s ? 1 : 0;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (stage.rank == 0) {
    for (const Measured& m : calls) print(m, stage.size);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double budget_s = argc == 2 ? std::atof(argv[1]) : 0;
  if (budget_s <= 0) {
    std::fputs(usage, stderr);
    return 2;
  }
  MPI_Init(&argc, &argv);
  measure(budget_s);
  MPI_Finalize();
  return 0;
}
