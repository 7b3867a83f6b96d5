/* SPDX-License-Identifier: Apache-2.0 */
/* A persistent reduction over a type with gaps, with threads: rank 0 waits elsewhere while the last rank is late.
   Prints "verified". */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "verdict.h"

enum { count = 5000 };

int main(int argc, char** argv) {
  static struct {
    double value;
    int rank;
  } mine[count], most[count];
  int provided, rank, size, wrong = 0;
  MPI_Request reduction;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce_init(mine, most, count, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD, MPI_INFO_NULL, &reduction);
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < count; i++) mine[i].value = (rank + i + round) % size, mine[i].rank = rank;
    if (rank == size - 1) usleep(200000);
    MPI_Start(&reduction);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&reduction, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++) wrong += most[i].value != size - 1 || (most[i].rank + i + round) % size != size - 1;
  }
  MPI_Request_free(&reduction);
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
