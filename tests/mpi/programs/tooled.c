/* SPDX-License-Identifier: Apache-2.0 */
/* The same calls as tooled.F90 makes; the tool may be linked into it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { length = 20000 };

static void expect(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "wrong: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank, ranks, total = 7;
  static double mine[length], theirs[length];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank != 0) total = 0;
  MPI_Bcast(&total, 1, MPI_INT, 0, MPI_COMM_WORLD);
  expect(total == 7, "broadcast");
  for (int i = 0; i < 3; ++i) {
    const int one = rank + 1;
    MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(total == ranks * (ranks + 1) / 2, "sum");
  }
  for (int i = 0; i < length; ++i) mine[i] = rank;
  if (rank < 2) {
    MPI_Request request;
    MPI_Isend(mine, length, MPI_DOUBLE, 1 - rank, 5, MPI_COMM_WORLD, &request);
    MPI_Recv(theirs, length, MPI_DOUBLE, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < length; ++i) expect(theirs[i] == 1 - rank, "message");
  }
  MPI_Finalize();
  if (rank == 0) puts("all is right");
  return EXIT_SUCCESS;
}
