// SPDX-License-Identifier: Apache-2.0
// Messages and collectives of which some arrive damaged: damaged CALLS [dies]. Prints how many calls failed, how many
// of those named their channel, and how many gave wrong data without an error. With "dies" the last rank kills itself
// in the middle.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { values = 8192, most_ranks = 8 };
static double data[most_ranks * values], got[most_ranks * values];
static int rank, size;
static long failed, named, wrong;

static double value_of(int call, int from, int i) { return 1 + call + 0.01 * from + 1e-6 * i; }

static void fill(int call) {
  for (int i = 0; i < size * values; ++i) data[i] = value_of(call, rank, i % values);
  memset(got, 0, sizeof got);
}

/* Looks at what has come from a rank, unless the call says that it failed. */
static void look(int result, int call, int from, const double* at, int skips) {
  if (result != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(result, text, &length);
    ++failed;
    named += strstr(text, "from rank ") != NULL;
    return;
  }
  for (int i = 0; i < values && !skips; ++i) wrong += at[i] != value_of(call, from, i);
}

static void one(int call) {
  fill(call);
  const int root = call % size;
  if (rank == root) memcpy(got, data, values * sizeof *data);
  look(MPI_Bcast(got, values, MPI_DOUBLE, root, MPI_COMM_WORLD), call, root, got, 0);
  fill(call);
  int counts[most_ranks], places[most_ranks];
  for (int i = 0; i < size; ++i) counts[i] = values, places[i] = i * values;
  int result = MPI_Alltoallv(data, counts, places, MPI_DOUBLE, got, counts, places, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) look(result, call, i, got + i * values, 0);
  memset(got, 0, sizeof got);
  result = MPI_Allgather(data, values, MPI_DOUBLE, got, values, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) look(result, call, i, got + i * values, 0);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  memset(got, 0, sizeof got);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(got, values, MPI_DOUBLE, from, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(data, values, MPI_DOUBLE, to, 5, MPI_COMM_WORLD, &requests[1]);
  result = MPI_Waitall(2, requests, statuses);
  look(result == MPI_ERR_IN_STATUS ? statuses[0].MPI_ERROR : result, call, from, got, 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int calls = atoi(argv[1]);
  if (argc == 2) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int call = 0; call < calls; ++call) {
    if (argc > 2 && rank == size - 1 && call == calls / 2) raise(SIGKILL);
    one(call);
  }
  long mine[3] = {failed, named, wrong}, all[3] = {0, 0, 0};
  MPI_Reduce(mine, all, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("failed %ld named %ld wrong %ld\n", all[0], all[1], all[2]);
  MPI_Finalize();
  return 0;
}
