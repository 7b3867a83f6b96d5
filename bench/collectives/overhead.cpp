// SPDX-License-Identifier: Apache-2.0
#include "overhead.hpp"

#include <mpi.h>

#include <chrono>
#include <vector>

#include "antiphon.h"
#include "json/json.hpp"
#include "library.hpp"
#include "report.hpp"
#include "statistics.hpp"

namespace bench {

namespace {

constexpr int calls_in_batch = 20000;
constexpr int batches = 41;

template <typename Function>
double call_ns(Function call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls_in_batch; ++i) call();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / calls_in_batch;
}

/// Alternates the two ways, so that changes of the processor's clock affect both.
template <typename Through, typename Direct>
void compare(const char* collective, Through through, Direct direct) {
  std::vector<double> added_ns, direct_ns;
  for (int i = 0; i < batches; ++i) {
    const double direct_batch_ns = call_ns(direct);
    added_ns.push_back(call_ns(through) - direct_batch_ns);
    direct_ns.push_back(direct_batch_ns);
  }
  print_line({{"event", "overhead"},
              {"collective", collective},
              {"library_ns", median_of(direct_ns)},
              {"added_ns", median_of(added_ns)},
              {"antiphon", antiphon_version() != 0}});
}

/// Measures calls that compression would frame, while it is off.
void point_to_point(MPI_Comm comm) {
  double in = 1, out = 0;
  MPI_Status status;
  MPI_Request requests[2];
  compare(
      "sendrecv", [&] { MPI_Sendrecv(&in, 1, MPI_DOUBLE, 0, 0, &out, 1, MPI_DOUBLE, 0, 0, comm, &status); },
      [&] { LIBRARY(PMPI_Sendrecv)(&in, 1, MPI_DOUBLE, 0, 0, &out, 1, MPI_DOUBLE, 0, 0, comm, &status); });
  compare(
      "irecv, isend, waitall",
      [&] {
        MPI_Irecv(&out, 1, MPI_DOUBLE, 0, 0, comm, &requests[0]);
        MPI_Isend(&in, 1, MPI_DOUBLE, 0, 0, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      },
      [&] {
        LIBRARY(PMPI_Irecv)(&out, 1, MPI_DOUBLE, 0, 0, comm, &requests[0]);
        LIBRARY(PMPI_Isend)(&in, 1, MPI_DOUBLE, 0, 0, comm, &requests[1]);
        LIBRARY(PMPI_Waitall)(2, requests, MPI_STATUSES_IGNORE);
      });
}

}  // namespace

int measure_overhead(int rank) {
  if (rank != 0) return 0;
  MPI_Comm comm = MPI_COMM_NULL;
  PMPI_Comm_dup(MPI_COMM_SELF, &comm);
  for (const char* collective : {"barrier", "bcast", "allreduce", "alltoall"})
    antiphon_force(comm, collective, "library");
  double in = 1, out = 0;
  compare("barrier", [&] { MPI_Barrier(comm); }, [&] { LIBRARY(PMPI_Barrier)(comm); });
  compare(
      "bcast", [&] { MPI_Bcast(&in, 1, MPI_DOUBLE, 0, comm); },
      [&] { LIBRARY(PMPI_Bcast)(&in, 1, MPI_DOUBLE, 0, comm); });
  compare(
      "allreduce", [&] { MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm); },
      [&] { LIBRARY(PMPI_Allreduce)(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm); });
  compare(
      "alltoall", [&] { MPI_Alltoall(&in, 1, MPI_DOUBLE, &out, 1, MPI_DOUBLE, comm); },
      [&] { LIBRARY(PMPI_Alltoall)(&in, 1, MPI_DOUBLE, &out, 1, MPI_DOUBLE, comm); });
  point_to_point(comm);
  PMPI_Comm_free(&comm);
  return 0;
}

}  // namespace bench
