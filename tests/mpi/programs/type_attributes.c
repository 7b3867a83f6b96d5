/* SPDX-License-Identifier: Apache-2.0 */
/* Sends by types with attributes, which it frees while they are in use: the types' copy function never runs, and the
 * delete function once for each. Prints "verified". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "verdict.h"

enum { blocks = 700, kinds = 3 };

static int rank, size, keyval, copied, removed, made;
static long wrong;

static int copy_counting(MPI_Datatype type, int key, void* extra, void* value, void* copy, int* flag) {
  (void)type, (void)key, (void)extra;
  copied++;
  *(void**)copy = value;
  *flag = 1;
  return MPI_SUCCESS;
}

static int remove_counting(MPI_Datatype type, int key, void* value, void* extra) {
  (void)type, (void)key, (void)extra;
  removed++;
  free(value);
  return MPI_SUCCESS;
}

/* All have `blocks` doubles: with a regular distance, without one, and from before the address on. */
static MPI_Datatype type_of(int kind) {
  int lengths[2] = {1, blocks - 1};
  int places[blocks];
  MPI_Aint offsets[2] = {-(MPI_Aint)sizeof(double), 0};
  MPI_Datatype types[2] = {MPI_DOUBLE, MPI_DOUBLE}, inner, type;
  for (int i = 0; i < blocks; i++) places[i] = i + i % 3;
  if (kind == 0) MPI_Type_vector(blocks, 1, 2, MPI_DOUBLE, &type);
  else if (kind == 1) MPI_Type_create_indexed_block(blocks, 1, places, MPI_DOUBLE, &type);
  else {
    MPI_Type_create_struct(2, lengths, offsets, types, &inner);
    MPI_Type_create_resized(inner, -16, (blocks + 7) * (MPI_Aint)sizeof(double), &type);
    MPI_Type_free(&inner);
  }
  MPI_Type_commit(&type);
  MPI_Type_set_attr(type, keyval, malloc(1));
  made++;
  return type;
}

static int place_of(int kind, int i) { return kind == 0 ? 2 * i : kind == 1 ? i + i % 3 : i - 1; }

static double* start_of(double* room) { return room + 8; }

static void fill(double* room, int kind, int number) {
  for (int i = 0; i < blocks; i++) start_of(room)[place_of(kind, i)] = number + i % 5;
}

static void judge(double* room, int kind, int number) {
  for (int i = 0; i < blocks; i++) wrong += start_of(room)[place_of(kind, i)] != number + i % 5;
}

static double* room_for(int count) { return calloc((size_t)(2 * blocks * (count + 1)), sizeof(double)); }

static void broadcast(int kind) {
  double* const room = room_for(1);
  MPI_Datatype type = type_of(kind);
  MPI_Request request;
  if (rank == 0) fill(room, kind, kind);
  MPI_Ibcast(start_of(room), 1, type, 0, MPI_COMM_WORLD, &request);
  MPI_Type_free(&type);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  judge(room, kind, kind);
  free(room);
}

static void send_to_next(int kind, int prepared) {
  double *const sent = room_for(1), *const got = room_for(1);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  MPI_Datatype to_send = type_of(kind), to_receive = type_of(kind);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  fill(sent, kind, rank);
  if (prepared) {
    MPI_Recv_init(start_of(got), 1, to_receive, previous, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(start_of(sent), 1, to_send, next, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
  } else {
    MPI_Irecv(start_of(got), 1, to_receive, previous, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(start_of(sent), 1, to_send, next, 0, MPI_COMM_WORLD, &requests[1]);
  }
  MPI_Type_free(&to_send);
  MPI_Type_free(&to_receive);
  MPI_Waitall(2, requests, statuses);
  for (int i = 0; prepared && i < 2; i++) MPI_Request_free(&requests[i]);
  judge(got, kind, previous);
  free(sent);
  free(got);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_create_keyval(copy_counting, remove_counting, &keyval, NULL);
  for (int kind = 0; kind < kinds; kind++) {
    broadcast(kind);
    send_to_next(kind, 0);
    send_to_next(kind, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  wrong += copied != 0 || removed != made;
  MPI_Type_free_keyval(&keyval);
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
