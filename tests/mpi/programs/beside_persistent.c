/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking messages of two ranks while a persistent alltoall is under way on rank 0: prints "verified". */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "verdict.h"

enum { count = 32768, kinds = 5 };

static double data[count], got[count];
static int rank;
static long wrong;

static void fill(int kind) {
  for (int i = 0; i < count; ++i) data[i] = kind + i / 64;
}

static void judge(int kind, MPI_Status* status) {
  int received = 0;
  MPI_Get_count(status, MPI_DOUBLE, &received);
  wrong += received != count || status->MPI_SOURCE != 1 - rank;
  fill(kind);
  wrong += memcmp(data, got, sizeof got) != 0;
  memset(got, 0, sizeof got);
}

/* Rank 0 receives, in each way that waits; rank 1 sends. */
static void pass(int kind) {
  MPI_Status status;
  MPI_Message message;
  int bytes = 0;
  if (rank == 1) {
    fill(kind);
    if (kind == 4) {
      MPI_Sendrecv(data, count, MPI_DOUBLE, 0, kind, got, count, MPI_DOUBLE, 0, kind, MPI_COMM_WORLD, &status);
      judge(kind, &status);
    } else if (kind == 3) MPI_Ssend(data, count, MPI_DOUBLE, 0, kind, MPI_COMM_WORLD);
    else MPI_Send(data, count, MPI_DOUBLE, 0, kind, MPI_COMM_WORLD);
    return;
  }
  switch (kind) {
    case 1:
      MPI_Probe(1, kind, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      wrong += bytes != (int)sizeof data;
      MPI_Recv(got, count, MPI_DOUBLE, 1, kind, MPI_COMM_WORLD, &status);
      break;
    case 2:
      MPI_Mprobe(1, kind, MPI_COMM_WORLD, &message, &status);
      MPI_Mrecv(got, count, MPI_DOUBLE, &message, &status);
      break;
    case 4:
      fill(kind);
      MPI_Sendrecv(data, count, MPI_DOUBLE, 1, kind, got, count, MPI_DOUBLE, 1, kind, MPI_COMM_WORLD, &status);
      break;
    default: MPI_Recv(got, count, MPI_DOUBLE, 1, kind, MPI_COMM_WORLD, &status);
  }
  judge(kind, &status);
}

int main(int argc, char** argv) {
  static int to[2 * 4096], from[2 * 4096];
  MPI_Request exchange;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Alltoall_init(to, 4096, MPI_INT, from, 4096, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &exchange);
  for (int kind = 0; kind < kinds; ++kind) {
    for (int i = 0; i < 2 * 4096; ++i) to[i] = rank * 100 + kind + i / 4096;
    if (rank == 0) MPI_Start(&exchange);
    pass(kind);
    if (rank == 1) MPI_Start(&exchange);
    MPI_Wait(&exchange, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * 4096; ++i) wrong += from[i] != i / 4096 * 100 + kind + rank;
  }
  MPI_Request_free(&exchange);
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
