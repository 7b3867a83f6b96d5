// SPDX-License-Identifier: Apache-2.0
// Starts MPI in the way that its argument names (init, threads, sessions, spawn), exchanges messages that a stray one
// would upset, and calls collectives. Prints "verified" if all is right.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { n = 3000 };

/// Every rank receives from anyone, with any tag, so that a message that is not the program's would be noticed.
static int any_messages(MPI_Comm comm) {
  int rank = 0, size = 0, wrong = 0, sum = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int to = 0; to < size; ++to) {
    MPI_Request request;
    int value = rank + 1, got = 0, flag = 1;
    MPI_Status status;
    MPI_Isend(&value, 1, MPI_INT, (rank + to) % size, rank, comm, &request);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    wrong += got != status.MPI_SOURCE + 1 || status.MPI_TAG != status.MPI_SOURCE;
    sum += got;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
    wrong += flag;
    MPI_Barrier(comm);
  }
  return wrong + (sum != size * (size + 1) / 2);
}

static int collectives(MPI_Comm comm) {
  int rank = 0, size = 0, wrong = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  double* out = malloc((size_t)(n * size) * sizeof *out);
  double* in = malloc((size_t)(n * size) * sizeof *in);
  for (int i = 0; i < n * size; ++i) out[i] = rank + i;
  MPI_Alltoall(out, n, MPI_DOUBLE, in, n, MPI_DOUBLE, comm);
  for (int i = 0; i < n * size; ++i) wrong += in[i] != i / n + rank * n + i % n;
  MPI_Allreduce(out, in, n, MPI_DOUBLE, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) wrong += in[i] != size * i + size * (size - 1) / 2.0;
  if (rank == size - 1) memset(out, 0, n * sizeof *out);
  MPI_Bcast(out, n, MPI_DOUBLE, size - 1, comm);
  for (int i = 0; i < n; ++i) wrong += out[i] != 0;
  free(out);
  free(in);
  return wrong;
}

static int check(MPI_Comm comm) {
  int wrong = any_messages(comm) + collectives(comm), all = 0, rank = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, comm);
  if (rank == 0 && all != 0) printf("%d wrong\n", all);
  return all;
}

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
static int sessions(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "starts", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  const int wrong = check(comm);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  if (rank == 0 && wrong == 0) printf("verified\n");
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  return MPI_Session_finalize(&session) != MPI_SUCCESS;
}
#endif

/// Checks the processes that `program` starts, together with those that start them. Among those, MPICH 5.0 loses
/// messages that are received from anyone, also without Antiphon.
static int spawned(char* program, MPI_Comm parent) {
  MPI_Comm both = parent, merged;
  if (parent == MPI_COMM_NULL)
    MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &both, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(both, parent != MPI_COMM_NULL, &merged);
  int wrong = collectives(merged), all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, merged);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&both);
  return all;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "init";
  int rank = 0, provided = 0;
  MPI_Comm parent = MPI_COMM_NULL;
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
  if (strcmp(mode, "sessions") == 0) return sessions();
#endif
  if (strcmp(mode, "threads") == 0) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  int wrong = check(MPI_COMM_WORLD);
  if (strcmp(mode, "spawn") == 0 || parent != MPI_COMM_NULL) wrong += spawned(argv[0], parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && wrong == 0 && parent == MPI_COMM_NULL) printf("verified\n");
  return MPI_Finalize() != MPI_SUCCESS;
}
