/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Request_get_status_any and _some, of long receives, finished sends, and inactive requests: prints "verified". */
#include <mpi.h>
#include <stdio.h>

enum { count = 32768, none = 0, idle = 1, sent = 2, coming = 3, requests = 4 };

static double data[count], got[count];
static MPI_Request request[requests];
static int rank, wrong;

static void expect(int got_value, int wanted, const char* what) {
  if (got_value == wanted) return;
  ++wrong;
  printf("rank %d: %s: %d instead of %d\n", rank, what, got_value, wanted);
}

static void look(int wanted, int wanted_count, const char* what) {
  int index = -7, flag = -7, done = -7, indices[requests];
  MPI_Status status, statuses[requests];
  MPI_Request_get_status_any(requests, request, &index, &flag, &status);
  expect(index, wanted, what);
  expect(flag, wanted != MPI_UNDEFINED || wanted_count == MPI_UNDEFINED, what);
  MPI_Request_get_status_some(requests, request, &done, indices, statuses);
  expect(done, wanted_count, what);
  if (done > 0) expect(indices[0], wanted, what);
}

int main(int argc, char** argv) {
  int word = 3, tag = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < count; ++i) data[i] = i / 64;
  for (int i = 0; i < requests; ++i) request[i] = MPI_REQUEST_NULL;
  MPI_Recv_init(&word, 1, MPI_INT, 1 - rank, 9, MPI_COMM_WORLD, &request[idle]);
  MPI_Irecv(got, count, MPI_DOUBLE, 1 - rank, tag, MPI_COMM_WORLD, &request[coming]);
  look(MPI_UNDEFINED, 0, "one on its way");
  MPI_Isend(&word, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &request[sent]);
  MPI_Recv(&word, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int flag = 0; !flag;) MPI_Request_get_status(request[sent], &flag, MPI_STATUS_IGNORE);
  look(sent, 1, "a send is done");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(data, count, MPI_DOUBLE, 1 - rank, tag, MPI_COMM_WORLD);
  for (int flag = 0; !flag;) MPI_Request_get_status(request[coming], &flag, MPI_STATUS_IGNORE);
  look(sent, 2, "both are done");
  MPI_Wait(&request[sent], MPI_STATUS_IGNORE);
  look(coming, 1, "the message is there");
  MPI_Wait(&request[coming], MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i) wrong += got[i] != data[i];
  look(MPI_UNDEFINED, MPI_UNDEFINED, "none is active");
  MPI_Request_free(&request[idle]);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("verified\n");
  MPI_Finalize();
  return wrong != 0;
}
