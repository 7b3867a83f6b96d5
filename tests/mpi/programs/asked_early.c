/* SPDX-License-Identifier: Apache-2.0 */
/* A receive that is too short for its message, beside a later one that builds on that message and is awaited first.
 * Only their communicator returns errors: no other error handler may hear of them. The sender never looks for the news
 * of the loss. Prints "verified". */
#include <mpi.h>
#include <stdlib.h>

#include "smooth.h"
#include "verdict.h"

enum { n = 2000, room = 8, rounds = 12, later = 5, tag = 3 };

static int class_of(int code) {
  int class = 0;
  MPI_Error_class(code, &class);
  return class;
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  MPI_Request requests[1 + later];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  double* v = malloc((1 + later) * n * sizeof *v);
  double* few = malloc(n * sizeof *few); /* Open MPI may write more than was asked for */
  for (int round = 0; round < rounds && rank < 2; ++round) {
    make(v, n, round, 0);
    if (rank == 0) MPI_Send(v, n, MPI_DOUBLE, 1, tag, comm);
    if (rank == 1 && round < rounds - 1 - later) MPI_Recv(v, n, MPI_DOUBLE, 0, tag, comm, MPI_STATUS_IGNORE);
  }
  if (rank == 1) {
    MPI_Irecv(few, room, MPI_DOUBLE, 0, tag, comm, &requests[0]);
    for (int k = 1; k <= later; ++k) MPI_Irecv(v + k * n, n, MPI_DOUBLE, 0, tag, comm, &requests[k]);
    for (int k = later; k > 0; --k) {
      const int code = MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
      failed += code == MPI_SUCCESS && !same(v + k * n, n, rounds - 1 - later + k, 0);
    }
    failed += class_of(MPI_Wait(&requests[0], MPI_STATUS_IGNORE)) != MPI_ERR_TRUNCATE;
  }
  tell_verdict(failed);
  MPI_Comm_free(&comm);
  free(v);
  free(few);
  MPI_Finalize();
  return 0;
}
