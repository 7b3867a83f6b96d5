/* SPDX-License-Identifier: Apache-2.0 */
/* late_sender FORM: rank 1 waits for rank 0, which sleeps for two seconds: for a message, or in an allreduce. Prints
 * how much processor time rank 1 needed for that ("waited 0.05", in seconds). */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double processor_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  const struct timespec two_seconds = {2, 0};
  int rank, own[256] = {0}, sum[256];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* The first call makes what later ones use. */
  MPI_Allreduce(own, sum, 256, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) nanosleep(&two_seconds, NULL);
  const double began_s = processor_s();
  if (strcmp(argv[1], "allreduce") == 0) MPI_Allreduce(own, sum, 256, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  else if (rank == 0) MPI_Send(own, 256, MPI_INT, 1, 0, MPI_COMM_WORLD);
  else MPI_Recv(own, 256, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) printf("waited %.3f\n", processor_s() - began_s);
  MPI_Finalize();
}
