/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 comes to MPI_Finalize 2 s after the others. Each of these says how many ms of processor time that took it. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double processor_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) sleep(2);
  const double before_ms = processor_ms();
  MPI_Finalize();
  if (rank != 0) printf("waited_ms %.0f\n", processor_ms() - before_ms);
  return 0;
}
