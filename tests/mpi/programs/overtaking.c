/* SPDX-License-Identifier: Apache-2.0 */
/* A probe that finds a late message leaves earlier ones of the sender before it, whatever they are: small, long, or
 * synchronous; and receives of other messages are as always. What builds on an earlier message is decoded after it, in
 * whatever order the program receives. Prints "verified". */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "verdict.h"

enum { count = 4000, longer = 10000, few = 3, width = 64, height = 40 };

static double data[count];
static int rank;
static long wrong;

static void fill(int tag) {
  for (int i = 0; i < count; i++) data[i] = tag + i / 16;
}

static void judge(int tag, int n, const MPI_Status* status) {
  int got = 0;
  MPI_Get_count(status, MPI_DOUBLE, &got);
  wrong += got != n || status->MPI_TAG != tag || status->MPI_SOURCE != 0;
  for (int i = 0; i < n; i++) wrong += data[i] != tag + i / 16;
  memset(data, 0, sizeof data);
}

static void wait_for_message(int tag, int n) {
  MPI_Status status;
  int there = 0, got = 0;
  while (!there) MPI_Iprobe(0, tag, MPI_COMM_WORLD, &there, &status);
  MPI_Get_count(&status, MPI_DOUBLE, &got);
  wrong += got != n || status.MPI_TAG != tag;
}

/* One message is sent synchronously in way 1: that ends only with its receive, and not with a probe. */
static void send_three(const int* lengths, int way) {
  static double each[3][count];
  MPI_Request requests[3];
  for (int m = 0; m < 3; m++) {
    fill(m + 1);
    memcpy(each[m], data, sizeof data);
    if (m == 0 && way == 1) MPI_Issend(each[m], lengths[m], MPI_DOUBLE, 1, m + 1, MPI_COMM_WORLD, &requests[m]);
    else MPI_Isend(each[m], lengths[m], MPI_DOUBLE, 1, m + 1, MPI_COMM_WORLD, &requests[m]);
  }
  if (way == 1) {
    int done = 1;
    MPI_Recv(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* has probed, and received nothing */
    MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    wrong += done;
    MPI_Send(NULL, 0, MPI_INT, 1, 8, MPI_COMM_WORLD);
  }
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

static void receive_any(int way, MPI_Status* status) {
  MPI_Message message;
  MPI_Request request;
  if (way == 2) {
    MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, status);
    MPI_Mrecv(data, count, MPI_DOUBLE, &message, status);
  } else if (way == 3) {
    MPI_Irecv(data, count, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, status);
  } else {
    MPI_Recv(data, count, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, status);
  }
}

/* Rank 0 sends three messages. Rank 1 looks for the third one, and then receives all in order. */
static void in_order(int long_first, int way) {
  const int lengths[] = {long_first ? count : few, long_first ? few : count, count};
  MPI_Status status;
  if (rank == 0) {
    send_three(lengths, way);
    return;
  }
  wait_for_message(3, lengths[2]);
  if (way == 1) {
    MPI_Send(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  for (int m = 0; m < 3; m++) {
    receive_any(way, &status);
    judge(m + 1, lengths[m], &status);
  }
}

/* A small receive while a probed message is kept. */
static void small_beside(void) {
  static double kept[count];
  MPI_Status status;
  MPI_Request request;
  double one[few];
  if (rank == 0) {
    fill(1);
    memcpy(kept, data, sizeof data);
    MPI_Isend(kept, count, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fill(2);
    MPI_Send(data, few, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
    MPI_Sendrecv(data, few, MPI_DOUBLE, 1, 3, one, few, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return;
  }
  wait_for_message(1, count);
  MPI_Send(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
  MPI_Recv(data, few, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, &status);
  judge(2, few, &status);
  fill(2);
  MPI_Sendrecv(data, few, MPI_DOUBLE, 0, 3, one, few, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < few; i++) wrong += one[i] != 2;
  MPI_Recv(data, count, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &status);
  judge(1, count, &status);
}

/* Two receives into different halves of one grid; the later one is complete first. */
static void halves(void) {
  static double grid[height][width];
  MPI_Datatype half[2];
  MPI_Request requests[2];
  for (int h = 0; h < 2; h++) {
    MPI_Type_create_subarray(2, (int[]){height, width}, (int[]){height, width / 2}, (int[]){0, h * width / 2},
                             MPI_ORDER_C, MPI_DOUBLE, &half[h]);
    MPI_Type_commit(&half[h]);
  }
  memset(grid, 0, sizeof grid);
  if (rank == 0) {
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++) grid[y][x] = 1 + x / (width / 2);
    MPI_Send(grid, 1, half[1], 1, 1, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(grid, 1, half[0], 1, 0, MPI_COMM_WORLD);
  } else {
    for (int h = 0; h < 2; h++) MPI_Irecv(grid, 1, half[h], 0, h, MPI_COMM_WORLD, &requests[h]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++) wrong += grid[y][x] != 1 + x / (width / 2);
  }
  for (int h = 0; h < 2; h++) MPI_Type_free(&half[h]);
}

/* Two messages of one tag, of which the second travels as its difference from the first, which does not shrink by
 * itself. A probe finds the second before the first is received, or the program receives the second first. */
static void send_alike(MPI_Comm comm) {
  static double noise[longer];
  unsigned long long state = 1;
  MPI_Request requests[3];
  for (int i = 0; i < longer; i++) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    memcpy(&noise[i], &state, sizeof noise[i]);
  }
  fill(6);
  for (int m = 0; m < 2; m++) MPI_Isend(noise, longer, MPI_DOUBLE, 1, 5, comm, &requests[m]);
  MPI_Isend(data, count, MPI_DOUBLE, 1, 6, comm, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

static void receive_alike(MPI_Comm comm, int way) {
  static double got[2][longer];
  MPI_Message messages[2];
  MPI_Request requests[2];
  MPI_Status status;
  memset(got, way, sizeof got);
  if (way == 0) MPI_Probe(0, 6, comm, &status);
  for (int m = 0; m < 2; m++) {
    if (way > 0) MPI_Mprobe(0, 5, comm, &messages[m], MPI_STATUS_IGNORE);
    else MPI_Recv(got[m], longer, MPI_DOUBLE, 0, 5, comm, MPI_STATUS_IGNORE);
  }
  for (int m = 0; m < 2 && way > 0; m++) {
    const int which = way % 2 ? m : 1 - m;
    if (way < 3) MPI_Mrecv(got[which], longer, MPI_DOUBLE, &messages[which], MPI_STATUS_IGNORE);
    else MPI_Imrecv(got[which], longer, MPI_DOUBLE, &messages[which], &requests[which]);
  }
  if (way >= 3) MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  if (way >= 3) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  wrong += memcmp(got[0], got[1], sizeof got[0]) != 0;
  MPI_Recv(data, count, MPI_DOUBLE, 0, 6, comm, &status);
  judge(6, count, &status);
}

static void alike(int way) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (rank == 0) send_alike(comm);
  else receive_alike(comm, way);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int again = 0; again < 3; again++) {
    for (int way = 0; way < 4; way++) {
      in_order(0, way);
      in_order(1, way);
    }
    for (int way = 0; way < 5; way++) alike(way);
    small_beside();
    halves();
  }
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
