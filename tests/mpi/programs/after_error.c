/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that fail on rank 0 while a message to or from rank 1, which is late, is under way: after_error WHICH, gather
 * or alltoallv. Rank 2 sends too much to rank 0, which MPI forbids. What was under way gets no data of the next call,
 * nor the next call its data. Prints "verified". */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { few = 1000, n = 3500, warm_up = 10, ranks = 3, token = 5 };

static int rank;
static long wrong;

static int is_truncated(int code) {
  int class = 0;
  MPI_Error_class(code, &class);
  return class == MPI_ERR_TRUNCATE;
}

static void fill(int* data, int count, int value) {
  for (int i = 0; i < count; ++i) data[i] = value;
}

static int is_full(const int* data, int count, int value) {
  for (int i = 0; i < count; ++i) {
    if (data[i] != value) return 0;
  }
  return 1;
}

/* Rank 1 gives its message of the failed call when rank 0 may be in the next one. */
static void gather(MPI_Comm control) {
  static int mine[2 * few], all[2 * ranks * few], later[2 * ranks * few];
  for (int call = 0; call < warm_up; ++call) {
    MPI_Gather(mine, few, MPI_INT, all, few, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(mine, 2 * few, MPI_INT, all, 2 * few, MPI_INT, 0, MPI_COMM_WORLD);
  }
  fill(mine, 2 * few, 10 + rank);
  if (rank == 1) MPI_Recv(NULL, 0, MPI_INT, 0, token, control, MPI_STATUS_IGNORE);
  const int code = MPI_Gather(mine, rank == 2 ? 2 * few : few, MPI_INT, all, few, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    wrong += !is_truncated(code);
    MPI_Send(NULL, 0, MPI_INT, 1, token, control);
  }
  fill(mine, 2 * few, 20 + rank);
  wrong += MPI_Gather(mine, few, MPI_INT, later, few, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
  for (int r = 0; rank == 0 && r < ranks; ++r) wrong += !is_full(later + r * few, few, 20 + r);
}

/* Rank 1 takes the message of the failed start when rank 0 has started the operation again. */
static void alltoallv(MPI_Comm control) {
  static int out[2 * ranks * n], in[ranks * n];
  int sent[ranks], got[ranks], from[ranks], to[ranks];
  MPI_Datatype apart;
  MPI_Request request;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &apart);
  MPI_Type_commit(&apart);
  for (int r = 0; r < ranks; ++r) from[r] = to[r] = r * n, sent[r] = got[r] = n;
  if (rank == 2) sent[0] = n + 100;
  MPI_Alltoallv_init(out, sent, from, apart, in, got, to, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  if (rank == 1) MPI_Recv(NULL, 0, MPI_INT, 0, token, control, MPI_STATUS_IGNORE);
  for (int value = 1; value < 3; ++value) {
    fill(out, 2 * ranks * n, value);
    MPI_Start(&request);
    if (rank == 0 && value == 2) MPI_Send(NULL, 0, MPI_INT, 1, token, control);
    const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += rank == 0 ? !is_truncated(code) : code != MPI_SUCCESS;
    wrong += rank == 1 && !is_full(in, ranks * n, value);
  }
  MPI_Request_free(&request);
  MPI_Type_free(&apart);
}

int main(int argc, char** argv) {
  MPI_Comm control;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &control);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (strcmp(argv[1], "gather") == 0) gather(control);
  else alltoallv(control);
  long all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, control);
  if (rank == 0) puts(all == 0 ? "verified" : "wrong");
  MPI_Comm_free(&control);
  MPI_Finalize();
  return 0;
}
