/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcasts on more communicators than the library can make twice: argument 1 says how many. Prints "verified". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "antiphon.h"
#include "verdict.h"

enum { count = 20000, most_ranks = 16 };

int main(int argc, char** argv) {
  static int data[count];
  const int comms = atoi(argv[1]);
  MPI_Comm* const all = malloc((size_t)comms * sizeof *all);
  int rank, size;
  long wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int c = 0; c < comms; c++) MPI_Comm_dup(MPI_COMM_WORLD, &all[c]);
  for (int c = 0; c < comms; c++) {
    for (int i = 0; i < count; i++) data[i] = rank == 0 ? c + i : 0;
    MPI_Bcast(data, count, MPI_INT, 0, all[c]);
    for (int i = 0; i < count; i++) wrong += data[i] != c + i;
  }
  static int counts[most_ranks], places[most_ranks], mine, of_all[most_ranks];
  for (int r = 0; r < size; r++) counts[r] = 1, places[r] = r;
  mine = rank;
  MPI_Allgather(&mine, 1, MPI_INT, data, 1, MPI_INT, MPI_COMM_WORLD);
  wrong += antiphon_alltoallv_data_trans1(data, counts, places, MPI_INT, of_all, counts, places, MPI_INT,
                                          all[comms - 1]) != ANTIPHON_OK;
  for (int r = 0; r < size; r++) wrong += of_all[r] != rank;
  for (int c = 0; c < comms; c++) MPI_Comm_free(&all[c]);
  free(all);
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
