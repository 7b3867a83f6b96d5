// SPDX-License-Identifier: Apache-2.0
// Gathers long columns of a matrix at rank 0. Prints how many KiB of memory it has more after that than before.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rows = 1 << 20, columns = 8 };

static long resident_kib(void) {
  char line[256];
  long kib = 0;
  FILE* const status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (sscanf(line, "VmRSS: %ld", &kib) == 1) break;
  if (status != NULL) fclose(status);
  return kib;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Datatype every, column;
  MPI_Type_vector(rows, columns, size * columns, MPI_DOUBLE, &every);
  MPI_Type_create_resized(every, 0, columns * sizeof(double), &column);
  MPI_Type_commit(&column);
  const size_t own = (size_t)rows * columns;
  double* const mine = malloc(own * sizeof *mine);
  double* const all = calloc(rank == 0 ? own * (size_t)size : 1, sizeof *all);
  for (size_t i = 0; i < own; ++i) mine[i] = rank + 1;
  if (rank == 0) memset(all, 1, own * (size_t)size * sizeof *all);
  const long before_kib = resident_kib();
  MPI_Gather(mine, rows * columns, MPI_DOUBLE, all, 1, column, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    long wrong = 0;
    for (size_t i = 0; i < own * (size_t)size; ++i) wrong += all[i] != (double)(i / columns % (size_t)size + 1);
    printf("%ld wrong, %ld KiB more\n", wrong, resident_kib() - before_kib);
  }
  free(mine);
  free(all);
  MPI_Finalize();
  return 0;
}
