/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 1 expects a shorter broadcast than rank 0 sends: blocking, nonblocking, and twice by a persistent operation. It
 * prints "truncated" for each error of that class, and else "right" or "other". */
#include <mpi.h>
#include <stdio.h>

enum { sent = 3000, expected = 1000 };

static int class_of(int code) {
  int class = 0;
  MPI_Error_class(code, &class);
  return class;
}

int main(int argc, char** argv) {
  static int data[sent];
  int rank, codes[4];
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int count = rank == 0 ? sent : expected;
  codes[0] = MPI_Bcast(data, count, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Ibcast(data, count, MPI_INT, 0, MPI_COMM_WORLD, &request);
  codes[1] = MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Bcast_init(data, count, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int again = 0; again < 2; again++) {
    MPI_Start(&request);
    codes[2 + again] = MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
  for (int i = 0; rank == 1 && i < 4; i++) {
    const char* const wrong = class_of(codes[i]) == MPI_ERR_TRUNCATE ? "truncated" : "other";
    puts(codes[i] == MPI_SUCCESS ? "right" : wrong);
  }
  MPI_Finalize();
  return 0;
}
