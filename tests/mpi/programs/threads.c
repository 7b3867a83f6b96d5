/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that call collectives on new communicators of their own. Prints "verified", or "no threads". */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { threads = 4, comms = 100 };

static MPI_Comm all[threads][comms];
static int size, wrong[threads];

static void* work(void* argument) {
  const int t = *(int*)argument;
  for (int c = 0; c < comms; c++) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all[t][c]);
    wrong[t] += sum != size;
  }
  return NULL;
}

int main(int argc, char** argv) {
  int rank, provided, here = 0, sum = 0, numbers[threads];
  pthread_t started[threads];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int t = 0; t < threads; t++)
    for (int c = 0; c < comms; c++) MPI_Comm_dup(MPI_COMM_WORLD, &all[t][c]);
  for (int t = 0; t < threads; t++) {
    numbers[t] = t;
    if (provided == MPI_THREAD_MULTIPLE) pthread_create(&started[t], NULL, work, &numbers[t]);
  }
  for (int t = 0; t < threads; t++) {
    if (provided == MPI_THREAD_MULTIPLE) pthread_join(started[t], NULL);
    here += wrong[t];
    for (int c = 0; c < comms; c++) MPI_Comm_free(&all[t][c]);
  }
  MPI_Reduce(&here, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(provided != MPI_THREAD_MULTIPLE ? "no threads" : sum == 0 ? "verified" : "wrong");
  MPI_Finalize();
  return 0;
}
