/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 sends less than the others expect, which MPI forbids: unlike_counts scatterv|alltoallv SENT EXPECTED. Prints
 * the errors of all ranks that have one, and ends the run. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_ranks = 8 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int sent = argc > 3 ? atoi(argv[2]) : 0, expected = argc > 3 ? atoi(argv[3]) : 0;
  int rank, size, class = MPI_SUCCESS, length = 0;
  int out[most_ranks] = {0}, in[most_ranks] = {0}, places[most_ranks] = {0};
  char text[MPI_MAX_ERROR_STRING] = "";
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  char *from = calloc((size_t)expected, 1), *to = calloc((size_t)expected, 1);
  for (int r = 1; rank == 0 && r < size; r++) out[r] = sent;
  if (rank != 0) in[0] = expected;
  const int rc = strcmp(argv[1], "scatterv") == 0
                     ? MPI_Scatterv(from, out, places, MPI_BYTE, to, in[0], MPI_BYTE, 0, MPI_COMM_WORLD)
                     : MPI_Alltoallv(from, out, places, MPI_BYTE, to, in, places, MPI_BYTE, MPI_COMM_WORLD);
  if (rc == MPI_SUCCESS) return MPI_Finalize(); /* the others end the run */
  MPI_Error_class(rc, &class);
  MPI_Error_string(rc, text, &length);
  printf("rank %d: %s: %s\n", rank, class == MPI_ERR_TRUNCATE ? "truncated" : "another class", text);
  fflush(stdout);
  /* A launcher may drop what it has not read when a rank aborts. */
  const struct timespec while_read = {0, 300000000};
  nanosleep(&while_read, NULL);
  MPI_Abort(MPI_COMM_WORLD, 3);
}
