// SPDX-License-Identifier: Apache-2.0
// Reduces 16 KiB on new communicators of all ranks: short_lived COMMUNICATORS CALLS, so many calls on each. Then checks
// the sums of the last call.
#include <mpi.h>
#include <stdlib.h>

#include "verdict.h"

enum { values = 2048 };

int main(int argc, char** argv) {
  static double mine[values], sum[values];
  int rank, size;
  long wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int communicators = argc > 1 ? atoi(argv[1]) : 1;
  const int calls = argc > 2 ? atoi(argv[2]) : 1;
  for (int i = 0; i < values; ++i) mine[i] = rank + i;
  for (int c = 0; c < communicators; ++c) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int call = 0; call < calls; ++call) MPI_Allreduce(mine, sum, values, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Comm_free(&comm);
  }
  for (int i = 0; i < values; ++i) wrong += sum[i] != size * (size - 1) / 2.0 + (double)size * i;
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
