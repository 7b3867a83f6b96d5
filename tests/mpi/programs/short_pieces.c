/* SPDX-License-Identifier: Apache-2.0 */
/* The root of MPI_Scatterv sends less than the others expect, which MPI forbids, then what they expect. The first call
 * is an error of its class on them, and the second is right. Prints "verified". */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

enum { sent = 50000, expected = 100000, most_ranks = 8 };

int main(int argc, char** argv) {
  int rank, size, class = MPI_SUCCESS, counts[most_ranks] = {0}, places[most_ranks] = {0};
  long wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  char *from = malloc(expected), *to = calloc(expected, 1);
  for (int call = 1; call <= 2; ++call) {
    for (int r = 1; r < size; ++r) counts[r] = call == 1 ? sent : expected;
    memset(from, call, expected);
    const int rc =
        MPI_Scatterv(from, counts, places, MPI_BYTE, to, rank == 0 ? 0 : expected, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Error_class(rc, &class);
    wrong += class != (call == 1 && rank > 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    for (int i = 0; i < expected && rank > 0 && call == 2; ++i) wrong += to[i] != 2;
  }
  tell_verdict(wrong);
  free(from);
  free(to);
  MPI_Finalize();
  return 0;
}
