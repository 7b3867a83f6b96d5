/* SPDX-License-Identifier: Apache-2.0 */
/* Repeats collectives of many sizes on the world and on a part of it, and checks what comes. With "for ever" as
 * arguments, it goes on until it is killed; each rank writes its process's number first. With "files", it prints how
 * many files are open after a communicator's life than before. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "open_files.h"

enum { most = 1 << 18 };
static int data[most], sum[most];

static int check_calls(MPI_Comm comm, int repetition, int elements) {
  int rank, size, wrong = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int root = repetition % size;
  for (int i = 0; i < elements; i++) data[i] = rank == root ? i + repetition : -1;
  MPI_Bcast(data, elements, MPI_INT, root, comm);
  for (int i = 0; i < elements; i++) wrong += data[i] != i + repetition;
  for (int i = 0; i < elements; i++) data[i] = i * (rank + 1);
  MPI_Allreduce(data, sum, elements, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < elements; i++) wrong += sum[i] != i * (size * (size + 1) / 2);
  return wrong;
}

int main(int argc, char** argv) {
  const int for_ever = argc > 2 && strcmp(argv[1], "for") == 0;
  int rank, size, wrong = 0, before, parts = 0;
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (for_ever) {
    char name[64];
    snprintf(name, sizeof name, "rank-%d.pid", rank);
    FILE* file = fopen(name, "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
  }
  for (int repetition = 0; for_ever || repetition < 200; repetition++)
    wrong += check_calls(MPI_COMM_WORLD, repetition, for_ever ? most : 1 << repetition % 18);
  before = open_files();
  for (int repetition = 0; repetition < 10; repetition++) {
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    wrong += check_calls(half, 1, 1000 * repetition);
    MPI_Comm_free(&half);
    if (repetition == 0) before = open_files();
  }
  parts = open_files() - before;
  printf("rank %d: %d wrong, %d more files\n", rank, wrong, parts);
  MPI_Finalize();
  return wrong != 0;
}
