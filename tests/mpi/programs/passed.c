/* SPDX-License-Identifier: Apache-2.0 */
/* Like calls that go to the library again and again, and then change: what they use must change at once, on all ranks.
 * The rules of the test choose the library for less than 1 KiB, and for all broadcasts of 2 ranks. Prints "verified".
 */
#include <stdio.h>
#include <string.h>

#include "antiphon.h"

enum { often = 20, few = 2, many = 1024 };

static int rank, ranks, calls; /* broadcasts, the same number on all ranks */
static long wrong;

static void uses(MPI_Comm comm, const char* collective, const char* expected, const char* when) {
  char text[100] = "-";
  antiphon_chosen(comm, collective, text, sizeof text);
  if (strncmp(text, expected, strlen(expected)) == 0) return;
  ++wrong;
  printf("%s: rank %d: %s used %s, not %s\n", when, rank, collective, text, expected);
}

static void broadcast(MPI_Comm comm, int count, const char* expected, const char* when) {
  static int data[many];
  int here, size;
  ++calls;
  if (comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(comm, &here);
  MPI_Comm_size(comm, &size);
  const int root = calls % size;
  for (int i = 0; i < count; ++i) data[i] = here == root ? calls + i : -1;
  MPI_Bcast(data, count, MPI_INT, root, comm);
  for (int i = 0; i < count; ++i) wrong += data[i] != calls + i;
  uses(comm, "bcast", expected, when);
}

static void add(int count, MPI_Datatype type, int ints, MPI_Op op, const char* expected, const char* when) {
  static int in[many], out[many];
  for (int i = 0; i < ints; ++i) in[i] = rank + i;
  MPI_Allreduce(in, out, count, type, op, MPI_COMM_WORLD);
  for (int i = 0; i < ints; ++i) wrong += out[i] != ranks * (ranks - 1) / 2 + ranks * i;
  uses(MPI_COMM_WORLD, "allreduce", expected, when);
}

static void add_ints(void* in, void* to, int* n, MPI_Datatype* type) {
  int bytes;
  MPI_Type_size(*type, &bytes);
  for (int i = 0; i < *n * bytes / (int)sizeof(int); ++i) ((int*)to)[i] += ((int*)in)[i];
}

static void change_sizes_and_roots(void) {
  for (int i = 0; i < often; ++i) {
    broadcast(MPI_COMM_WORLD, few, "library", "short");
    broadcast(MPI_COMM_WORLD, few + i % 3, "library", "short");
    if (i % 4 == 3) broadcast(MPI_COMM_WORLD, many, "chain", "long");
  }
}

/* A type and an operation whose handles may be those of earlier ones. */
static void change_types(void) {
  for (int i = 0; i < often; ++i) {
    MPI_Datatype type;
    MPI_Op op;
    const int ints = i % 2 == 0 ? few : many;
    MPI_Type_contiguous(ints, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add_ints, 1, &op);
    add(1, type, ints, op, ints == few ? "library" : "ring", "type");
    add(few, MPI_INT, few, op, "library", "operation");
    add(few, MPI_INT, few, MPI_SUM, "library", "sum");
    MPI_Op_free(&op);
    MPI_Type_free(&type);
  }
}

/* Communicators whose handles may be those of earlier ones. */
static void change_communicators(void) {
  for (int i = 0; i < often; ++i) {
    MPI_Comm comm;
    const int all = i % 2;
    MPI_Comm_split(MPI_COMM_WORLD, all || rank < 2 ? 0 : MPI_UNDEFINED, rank, &comm);
    for (int call = 0; call < 3; ++call) broadcast(comm, many, all ? "chain" : "library", "communicator");
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
}

static void change_overrides(void) {
  for (int i = 0; i < 3; ++i) {
    for (int call = 0; call < often; ++call) broadcast(MPI_COMM_WORLD, few, "library", "before");
    antiphon_force(MPI_COMM_WORLD, "bcast", "binomial");
    broadcast(MPI_COMM_WORLD, few, "binomial", "forced");
    antiphon_force(MPI_COMM_WORLD, "bcast", "auto");
    broadcast(MPI_COMM_WORLD, few, "library", "automatic again");
  }
}

/* Rank 0 waits in a barrier while others wait for what it has started. */
static void start_operations(void) {
  static int data[1 << 16];
  const int count = 1 << 16, last = count - 1;
  MPI_Request request;
  for (int call = 0; call < often; ++call) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast_init(data, count, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int call = 0; call < often; ++call) {
    data[last] = rank == 0 ? call : -1;
    MPI_Start(&request);
    if (rank > 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += data[last] != call;
  }
  MPI_Request_free(&request);
}

int main(int argc, char** argv) {
  long all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  change_sizes_and_roots();
  change_types();
  change_communicators();
  change_overrides();
  start_operations();
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("verified\n");
  MPI_Finalize();
  return all != 0;
}
