// SPDX-License-Identifier: Apache-2.0
// Messages for which Zstandard and LZ4 are best: noise that repeats itself. Prints "verified" if all arrive unchanged.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { bytes = 48000, period = 700, messages = 20 };

static void make(unsigned char* v, int salt) {
  unsigned state = 77u + (unsigned)salt;
  for (int i = 0; i < bytes; ++i) {
    state = state * 1664525u + 1013904223u;
    v[i] = i < period ? (unsigned char)(state >> 24) : v[i - period];
  }
}

int main(int argc, char** argv) {
  int rank = 0, wrong = 0, all = 0;
  unsigned char* v = malloc(2 * bytes);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < messages; ++round) {
    make(v, round);
    memset(v + bytes, 0, bytes);
    if (rank == 0) MPI_Send(v, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(v + bytes, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) wrong += memcmp(v, v + bytes, bytes) != 0;
    if (rank == 0) memcpy(v + bytes, v, bytes);
    MPI_Bcast(v + bytes, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    wrong += memcmp(v, v + bytes, bytes) != 0;
  }
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf(all == 0 ? "verified\n" : "%d wrong\n", all);
  MPI_Finalize();
  free(v);
  return 0;
}
