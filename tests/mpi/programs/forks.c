/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 sends a message, forks a child that ends at once, and sends another. Prints "verified". */
#include <mpi.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verdict.h"

enum { length = 256 };

int main(int argc, char** argv) {
  double data[length];
  int rank;
  long wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < length; i++) data[i] = round + 1;
    if (rank == 0) MPI_Send(data, length, MPI_DOUBLE, 1, round, MPI_COMM_WORLD);
    else MPI_Recv(data, length, MPI_DOUBLE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += data[length - 1] != round + 1;
    if (rank != 0 || round != 0) continue;
    const pid_t child = fork();
    if (child == 0) exit(0);
    wrong += waitpid(child, NULL, 0) != child;
  }
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
