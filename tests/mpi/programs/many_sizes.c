/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcasts of more sizes than decisions are kept for, twice, each from the next root. */
#include <mpi.h>
#include <stdio.h>

enum { sizes = 1500 };

int main(int argc, char** argv) {
  static int data[sizes];
  int rank, ranks, wrong = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int call = 0; call < 2 * sizes; ++call) {
    const int count = sizes - call % sizes, root = call % ranks;
    for (int i = 0; i < count; ++i) data[i] = rank == root ? call + i : -1;
    MPI_Bcast(data, count, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) wrong += data[i] != call + i;
  }
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong numbers\n", all);
  MPI_Finalize();
  return all != 0;
}
