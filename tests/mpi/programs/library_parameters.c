/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what Open MPI sends at once over TCP, and exchanges long messages. With an argument, odd ranks set that limit
   themselves. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "parameters.h"

static int byte_of(int rank, int place) { return (rank * 31 + place * 7 + place / 4096) & 127; }

/* Each rank sends to its right and left at once. Returns how many bytes are wrong. */
static long exchange(int rank, int ranks, int bytes) {
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  char* own = malloc(bytes);
  char* from[2] = {calloc(bytes, 1), calloc(bytes, 1)};
  const int sources[2] = {left, right};
  MPI_Request requests[4];
  long wrong = 0;
  for (int i = 0; i < bytes; ++i) own[i] = (char)byte_of(rank, i);
  MPI_Irecv(from[0], bytes, MPI_CHAR, left, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(from[1], bytes, MPI_CHAR, right, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(own, bytes, MPI_CHAR, right, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Issend(own, bytes, MPI_CHAR, left, 2, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  for (int side = 0; side < 2; ++side)
    for (int i = 0; i < bytes; ++i) wrong += from[side][i] != byte_of(sources[side], i);
  free(own);
  free(from[0]);
  free(from[1]);
  return wrong;
}

int main(int argc, char** argv) {
  const char* place = getenv("OMPI_COMM_WORLD_RANK");
  int rank, ranks;
  long wrong = 0, all = 0;
  if (argc > 1 && place != NULL && atoi(place) % 2 == 1) setenv("OMPI_MCA_btl_tcp_eager_limit", "70000", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int bytes = 20000; bytes <= 1 << 20; bytes *= 2) wrong += exchange(rank, ranks, bytes);
  wrong += exchange(rank, ranks, 131072 - 64) + exchange(rank, ranks, 131072) + exchange(rank, ranks, 65536);
  MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("wrong %ld eager %ld inherited %s\n", all, parameter("btl_tcp_eager_limit"),
           getenv("OMPI_MCA_btl_tcp_eager_limit") ? "yes" : "no");
  MPI_Finalize();
  return 0;
}
