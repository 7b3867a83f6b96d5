/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of noise, and of data that shrink, which the program looks at before it completes their receives. All of
 * these but one are too short. Prints "verified". */
#include <mpi.h>
#include <stdlib.h>

#include "verdict.h"

enum { length = 500, beyond = 50 };
static const int lengths[] = {250, 130, 125, 126, length}; /* 2000, 1040, 1000 and 1008 bytes; and enough for all */
static double data[length], got[length + beyond];

static void make(int round) {
  for (int i = 0; i < length; i++) data[i] = round % 2 ? i / 100 : (double)rand() / RAND_MAX;
}

static int class_of(int code) {
  int class = 0;
  MPI_Error_class(code, &class);
  return class;
}

/* Returns the number of errors. */
static long receive(int room, MPI_Comm comm) {
  MPI_Request request;
  int done = 0;
  long wrong = 0;
  for (int i = 0; i < length + beyond; i++) got[i] = -1;
  MPI_Irecv(got, room, MPI_DOUBLE, 0, 5, comm, &request);
  /* MPICH tells of the error here, too, and not to the communicator's error handler. */
  while (!done && MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS) continue;
  const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  wrong += class_of(code) != (room < length ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  for (int i = room; i < length + beyond; i++) wrong += got[i] != -1;
  for (int i = 0; i < length && room == length; i++) wrong += got[i] != data[i];
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  int rank;
  long wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int round = 0; round < 2; round++) {
    make(round);
    for (int k = 0; k < (int)(sizeof lengths / sizeof *lengths); k++) {
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
      if (rank == 0) MPI_Send(data, length, MPI_DOUBLE, 1, 5, comm);
      else wrong += receive(lengths[k], comm);
      MPI_Comm_free(&comm);
    }
  }
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
