/* SPDX-License-Identifier: Apache-2.0 */
/* many_exchanges CALL COMMUNICATORS: duplicates the world so often, with an exchange on each duplicate at once, by
 * "alltoall" or "ialltoall". Prints "verified". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

enum { most_ranks = 8, count = 100 };

int main(int argc, char** argv) {
  const int waits = strcmp(argv[1], "alltoall") == 0, comms = atoi(argv[2]);
  static int sent[most_ranks * count], got[most_ranks * count];
  MPI_Comm* const all = malloc((size_t)comms * sizeof *all);
  int rank, size;
  long wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int c = 0; c < comms; c++) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &all[c]);
    for (int i = 0; i < size * count; i++) sent[i] = c + 10 * rank + i / count, got[i] = -1;
    if (waits) MPI_Alltoall(sent, count, MPI_INT, got, count, MPI_INT, all[c]);
    else MPI_Ialltoall(sent, count, MPI_INT, got, count, MPI_INT, all[c], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < size * count; i++) wrong += got[i] != c + 10 * (i / count) + rank;
  }
  for (int c = 0; c < comms; c++) MPI_Comm_free(&all[c]);
  free(all);
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
