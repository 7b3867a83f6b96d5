/* SPDX-License-Identifier: Apache-2.0 */
/* multicast_groups MODE: the life of multicast groups; prints "verified".
 *
 *   numbers    communicators of the same ranks in another order, with room for two groups */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { bytes = 3000 };

static int rank, size;
static _Atomic long wrong;

static void broadcast(MPI_Comm comm, int root, int number) {
  unsigned char data[bytes];
  int own;
  MPI_Comm_rank(comm, &own);
  for (int i = 0; i < bytes; i++) data[i] = own == root ? (unsigned char)(number * 31 + i) : 0;
  MPI_Bcast(data, bytes, MPI_BYTE, root, comm);
  for (int i = 0; i < bytes; i++) wrong += data[i] != (unsigned char)(number * 31 + i);
}

static MPI_Comm split(int color, int key) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
  return comm;
}

static void numbers(void) {
  const int color = rank < size - 1;
  MPI_Comm backwards = split(color, -rank), forwards = split(color, rank);
  broadcast(MPI_COMM_WORLD, 0, 1);
  broadcast(backwards, 0, 2);
  broadcast(forwards, 0, 3);
  broadcast(MPI_COMM_WORLD, 0, 4);
  MPI_Comm_free(&backwards);
  MPI_Comm_free(&forwards);
}

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(mode, "numbers") == 0) numbers();
  long all = 0, mine = wrong;
  MPI_Reduce(&mine, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(all == 0 ? "verified" : "wrong");
  MPI_Finalize();
  return 0;
}
