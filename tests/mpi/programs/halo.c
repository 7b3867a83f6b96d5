/* SPDX-License-Identifier: Apache-2.0 */
/* A small unstructured solver: halo [STEPS [ODD]]. Ranks average their cells with cells of other ranks, received by
 * MPI_Alltoallv with the same counts in every step. But in step ODD rank 0 sends more to rank 1, which the other ranks
 * cannot know. Prints a checksum, which does not depend on who moved the data. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 6000, MOST = 64 };

static int needed(int from, int to, int more) {
  if (from == to) return 0;
  return (from * 5 + to * 3) % 4 * 1300 + 7 + (more && from == 0 && to == 1 ? 900 : 0);
}

int main(int argc, char** argv) {
  int rank, size, sc[MOST], sd[MOST], rc[MOST], rd[MOST];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int steps = argc > 1 ? atoi(argv[1]) : 10, odd = argc > 2 ? atoi(argv[2]) : -1, in = 0;
  double *cells = malloc(CELLS * sizeof *cells), *halo = calloc((size_t)CELLS * (size_t)size, sizeof *halo), sum = 0,
         all = 0;
  for (int i = 0; i < CELLS; i++) cells[i] = rank * 1e-3 + i * 1e-5;
  for (int step = 0; step < steps; step++) {
    in = 0;
    for (int r = 0; r < size; r++) {
      sc[r] = needed(rank, r, step == odd);
      rc[r] = needed(r, rank, step == odd);
      sd[r] = 11 * r;
      rd[r] = in;
      in += rc[r];
    }
    MPI_Alltoallv(cells, sc, sd, MPI_DOUBLE, halo, rc, rd, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int i = 0; i < in; i++) cells[i % CELLS] = 0.75 * cells[i % CELLS] + 0.25 * halo[i];
  }
  for (int i = 0; i < CELLS; i++) sum += cells[i] * (1 + i % 7);
  double* sums = calloc((size_t)size, sizeof *sums);
  MPI_Gather(&sum, 1, MPI_DOUBLE, sums, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int r = 0; r < size; r++) all += sums[r];
  if (rank == 0) printf("checksum %.12e\n", all);
  free(sums);
  free(cells);
  free(halo);
  MPI_Finalize();
  return 0;
}
