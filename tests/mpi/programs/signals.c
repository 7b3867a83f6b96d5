/* SPDX-License-Identifier: Apache-2.0 */
/* A timer interrupts MPI_Init and what follows. Prints "verified". */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile sig_atomic_t alarms;
static void count(int number) { alarms += number == SIGALRM; }

int main(int argc, char** argv) {
  const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
  struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
  int rank, size, sum = 0;
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  setitimer(ITIMER_REAL, &never, NULL);
  if (rank == 0) puts(sum == size * (size - 1) / 2 && alarms > 0 ? "verified" : "wrong");
  MPI_Finalize();
  return 0;
}
