// Calls that come often enough for their ways to take turns. Arguments: how many calls of each kind; for how long at
// most a rank sleeps before a call, in microseconds, a different time on each; kinds. Every result is checked; those of
// floating-point numbers must have the same bits in every call.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { bytes = 16384, numbers = 4096 };

static int rank, size, wrong, sleep_us;
static unsigned state;

static void come_late(void) {
  state = state * 1103515245u + 12345u;
  if (sleep_us > 0 && rank % 2 == 1) usleep((state >> 16) % (unsigned)sleep_us);
}

static void broadcast(int call, MPI_Comm comm) {
  static unsigned char data[bytes];
  const int root = call % size;
  memset(data, rank == root ? call & 255 : 0, bytes);
  come_late();
  MPI_Bcast(data, bytes, MPI_BYTE, root, comm);
  for (int i = 0; i < bytes; ++i) wrong += data[i] != (call & 255);
}

/// Ranks 1, 3, … have communicators of their own besides.
static void use_own_communicator(void) {
  MPI_Comm own;
  if (rank % 2 == 0) return;
  MPI_Comm_dup(MPI_COMM_SELF, &own);
  MPI_Barrier(own);
  MPI_Comm_free(&own);
}

/// Broadcasts beside a computation; another call now and then lets ranks wait for each other.
static void broadcast_beside(int call, MPI_Comm comm) {
  static unsigned char data[bytes];
  const int root = call % size;
  MPI_Request request;
  memset(data, rank == root ? call & 255 : 0, bytes);
  come_late();
  MPI_Ibcast(data, bytes, MPI_BYTE, root, comm, &request);
  usleep(200);
  if (call % 2 == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int done = call % 2 == 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  for (int i = 0; i < bytes; ++i) wrong += data[i] != (call & 255);
  if (call % 4 == 0) MPI_Barrier(comm);
}

static void add_whole_beside(int call) {
  static int in[numbers], out[numbers];
  MPI_Request request;
  for (int i = 0; i < numbers; ++i) in[i] = rank + i + call;
  MPI_Iallreduce(in, out, numbers, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  come_late();
  MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
  for (int i = 0; i < numbers; ++i) wrong += out[i] != size * (size - 1) / 2 + size * (i + call);
}

static void add_whole(int call) {
  static int in[numbers], out[numbers];
  for (int i = 0; i < numbers; ++i) in[i] = rank + i + call;
  come_late();
  MPI_Allreduce(in, out, numbers, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < numbers; ++i) wrong += out[i] != size * (size - 1) / 2 + size * (i + call);
}

static void add_floating(int call) {
  static double in[numbers], out[numbers], first[numbers];
  for (int i = 0; i < numbers; ++i) in[i] = 1.0 / (3 + i + 1000 * rank) - (rank % 2) * 1e6;
  MPI_Allreduce(in, out, numbers, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (call == 0) memcpy(first, out, sizeof first);
  wrong += memcmp(first, out, sizeof first) != 0;
  uint64_t bits = 0;
  for (int i = 0; i < numbers; ++i) {
    uint64_t one;
    memcpy(&one, &out[i], sizeof one);
    bits = bits * 31 + one;
  }
  if (call == 0 && rank == 0) printf("bits %016llx\n", (unsigned long long)bits);
}

/// Takes long, so that a way that calls it often does too.
static void add_slowly(void* in, void* to, int* n, MPI_Datatype* type) {
  (void)type;
  usleep(50);
  for (int i = 0; i < *n; ++i) ((int*)to)[i] += ((int*)in)[i];
}

static void add_by_program(int call) {
  static int in[numbers], out[numbers];
  static MPI_Op op = MPI_OP_NULL;
  if (op == MPI_OP_NULL) MPI_Op_create(add_slowly, 1, &op);
  for (int i = 0; i < numbers; ++i) in[i] = rank + i + call;
  come_late();
  MPI_Allreduce(in, out, numbers, MPI_INT, op, MPI_COMM_WORLD);
  for (int i = 0; i < numbers; ++i) wrong += out[i] != size * (size - 1) / 2 + size * (i + call);
}

int main(int argc, char** argv) {
  if (argc < 4) return 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int calls = atoi(argv[1]);
  sleep_us = atoi(argv[2]);
  state = (unsigned)rank + 1;
  for (const char* kind = argv[3]; *kind != 0; ++kind) {
    MPI_Comm own;  // of these calls alone
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    for (int call = 0; call < calls; ++call) {
      if (*kind == 'b') broadcast(call, MPI_COMM_WORLD);
      if (*kind == 'c') broadcast(call, own);
      if (*kind == 's' && call % 3 == 0) use_own_communicator();
      if (*kind == 's') broadcast(call, own);
      if (*kind == 'i') broadcast_beside(call, own);
      if (*kind == 'n') add_whole_beside(call);
      if (*kind == 'w') add_whole(call);
      if (*kind == 'f') add_floating(call);
      if (*kind == 'p') add_by_program(call);
    }
    MPI_Comm_free(&own);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", wrong);
  return MPI_Finalize();
}
