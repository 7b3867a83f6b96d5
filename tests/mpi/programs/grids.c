// SPDX-License-Identifier: Apache-2.0
// Parts of grids: a received message of a regular datatype must leave in memory what the library's own MPI_Unpack
// leaves there, gaps included, sent and received in several ways. Prints "N cases, M failed".
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { values = 48 * 20 * 18, bytes = values * 8, most_types = 10 };
static MPI_Datatype types[most_types];
static int counts[most_types], type_count, rank, cases, failed;
static double *sent, *got, *want;
static char* packed;

static void add(MPI_Datatype type, int count) {
  MPI_Type_commit(&type);
  types[type_count] = type;
  counts[type_count++] = count;
}

static void make_types(void) {
  const int sizes[3] = {18, 20, 48}, parts[3] = {16, 18, 40}, face[3] = {16, 18, 1}, starts[3] = {1, 1, 3};
  MPI_Datatype type, inner;
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type), add(type, 1);
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE, &type), add(type, 1);
  MPI_Type_create_subarray(3, sizes, face, starts, MPI_ORDER_C, MPI_DOUBLE, &type), add(type, 1);
  MPI_Type_vector(300, 1, 48, MPI_DOUBLE, &inner);
  MPI_Type_create_resized(inner, 0, 8, &type), add(type, 7);  // columns, one beside the other
  MPI_Type_free(&inner);
  MPI_Type_vector(10, 3, 5, MPI_FLOAT, &inner);
  MPI_Type_create_hvector(30, 2, 1000, inner, &type), add(type, 2);
  MPI_Type_contiguous(9, inner, &type), add(type, 20);
  MPI_Type_free(&inner);
  MPI_Type_vector(20, 4, 6, MPI_INT, &inner);
  MPI_Type_dup(inner, &type), add(type, 11);
  MPI_Type_free(&inner);
  MPI_Type_vector(900, 3, 7, MPI_CHAR, &type), add(type, 2);  // blocks too short for a frame's mark
  MPI_Type_vector(50, 3, -4, MPI_DOUBLE, &inner);             // backwards
  const int one = 1;
  const MPI_Aint last = 49 * 32;
  MPI_Type_create_hindexed(1, &one, &last, inner, &type), add(type, 3);
  MPI_Type_free(&inner);
}

static void fill(int round) {
  for (int i = 0; i < values; ++i) sent[i] = 1 + 1e-5 * i + 1e-3 * round;
  memset(got, 0x5a, bytes), memset(want, 0x5a, bytes);
}

static void check(int type, const char* how) {
  int size = 0, position = 0;
  MPI_Pack_size(counts[type], types[type], MPI_COMM_WORLD, &size);
  if (size > bytes) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Pack(sent, counts[type], types[type], packed, bytes, &position, MPI_COMM_WORLD);
  size = position, position = 0;
  MPI_Unpack(packed, size, &position, want, counts[type], types[type], MPI_COMM_WORLD);
  ++cases;
  if (memcmp(got, want, bytes) == 0) return;
  ++failed;
  printf("rank %d: type %d, %s: not what it should be\n", rank, type, how);
}

static void exchange(int type, int round) {
  const int peer = 1 - rank;
  MPI_Request requests[4];
  fill(round);
  MPI_Irecv(got, counts[type], types[type], peer, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(sent, counts[type], types[type], peer, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check(type, "nonblocking");
  fill(round);
  MPI_Sendrecv(sent, counts[type], types[type], peer, 2, got, counts[type], types[type], peer, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  check(type, "sendrecv");
  // Two messages go to one place, as bandwidth tests post them; the type is freed before its message comes.
  fill(round);
  MPI_Datatype own;
  MPI_Type_dup(types[type], &own);
  for (int k = 0; k < 2; ++k) MPI_Irecv(got, counts[type], own, peer, 3, MPI_COMM_WORLD, &requests[k]);
  MPI_Type_free(&own);
  for (int k = 0; k < 2; ++k) MPI_Isend(sent, counts[type], types[type], peer, 3, MPI_COMM_WORLD, &requests[2 + k]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  check(type, "two into one place");
}

static void exchange_often(int type) {
  const int peer = 1 - rank;
  MPI_Request requests[2];
  MPI_Recv_init(got, counts[type], types[type], peer, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(sent, counts[type], types[type], peer, 4, MPI_COMM_WORLD, &requests[1]);
  for (int round = 0; round < 5; ++round) {
    fill(round);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(type, "persistent");
  }
  for (int k = 0; k < 2; ++k) MPI_Request_free(&requests[k]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  sent = malloc(bytes), got = malloc(bytes), want = malloc(bytes), packed = malloc(bytes);
  make_types();
  for (int type = 0; type < type_count; ++type) {
    for (int round = 0; round < 4; ++round) exchange(type, round);
    exchange_often(type);
  }
  printf("%d cases, %d failed\n", cases, failed);
  for (int type = 0; type < type_count; ++type) MPI_Type_free(&types[type]);
  free(sent), free(got), free(want), free(packed);
  MPI_Finalize();
  return failed != 0;
}
