// SPDX-License-Identifier: Apache-2.0
// Calls whose place in the summary is known. "none" calls nothing; "many" makes more calls than times are kept of.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { block = 65536, late_us = 300000 };

/// One rank alone, nothing to move, and elements that Antiphon does not reduce.
static void leave_to_the_library(void) {
  double value = 1;
  char yes = 1, any = 0;
  MPI_Barrier(MPI_COMM_SELF);
  MPI_Bcast(&value, 0, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&yes, &any, 1, MPI_CXX_BOOL, MPI_LOR, MPI_COMM_WORLD);
}

/// Rank 0 comes late to a call of all, and to one of a communicator that is gone at the end.
static void come_late(int rank) {
  double value = rank, sum = 0;
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) usleep(late_us);
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) usleep(late_us);
  MPI_Scan(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, half);
  MPI_Comm_free(&half);
}

static void exchange(int size) {
  char* const from = calloc((size_t)size, block);
  char* const to = calloc((size_t)size, block);
  for (int i = 0; i < 3; ++i) MPI_Alltoall(from, block, MPI_BYTE, to, block, MPI_BYTE, MPI_COMM_WORLD);
  for (int bytes = 1000; bytes <= 1024; bytes += 24) MPI_Bcast(from, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Bcast(from, 2000, MPI_BYTE, 0, MPI_COMM_WORLD);
  free(from);
  free(to);
}

int main(int argc, char** argv) {
  int rank = 0, size = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* const what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "none") == 0) return MPI_Finalize();
  leave_to_the_library();
  exchange(size);
  come_late(rank);
  if (strcmp(what, "many") == 0)
    for (int i = 0; i < 5000; ++i) MPI_Bcast(&size, 0, MPI_INT, 0, MPI_COMM_WORLD);
  return MPI_Finalize();
}
