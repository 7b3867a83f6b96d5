/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 alone writes numbers with a decimal comma. Prints "verified", or "no such locale". */
#include <locale.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { most = 16384 };

int main(int argc, char** argv) {
  static int mine[most], sums[most];
  int rank, size, found = 1, wrong = 0, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) found = setlocale(LC_ALL, "de_DE.UTF-8") != NULL && strcmp(localeconv()->decimal_point, ",") == 0;
  for (int i = 0; i < most; i++) mine[i] = rank + i;
  for (int count = 256; count <= most; count *= 2) {
    for (int round = 0; round < 30; round++) MPI_Allreduce(mine, sums, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) wrong += sums[i] != size * i + size * (size - 1) / 2;
  }
  MPI_Reduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(!found ? "no such locale" : sum == 0 ? "verified" : "wrong");
  MPI_Finalize();
  return 0;
}
