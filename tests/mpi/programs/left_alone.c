/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges that some ranks leave alone for a while and others wait for at once, and then the other way round: ranks
   judge for themselves how far they send ahead, so they differ. Checks every byte. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank, size;

static unsigned char value(int from, int to, int place, int round) {
  return (unsigned char)(from * 31 + to * 17 + place * 7 + round);
}

/* Returns the number of wrong bytes of one exchange, in which this rank computes or not. */
static int exchange(int bytes, int round, int sized, int computes) {
  unsigned char *out = malloc((size_t)bytes * (size_t)size), *in = calloc((size_t)size, (size_t)bytes);
  int *counts = malloc(sizeof(int) * (size_t)size), *places = malloc(sizeof(int) * (size_t)size);
  int wrong = 0;
  MPI_Request request;
  for (int r = 0; r < size; r++) {
    counts[r] = bytes;
    places[r] = r * bytes;
    for (int i = 0; i < bytes; i++) out[r * bytes + i] = value(rank, r, i, round);
  }
  if (sized) MPI_Ialltoallv(out, counts, places, MPI_BYTE, in, counts, places, MPI_BYTE, MPI_COMM_WORLD, &request);
  else MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
  if (computes) usleep(5000);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int r = 0; r < size; r++)
    for (int i = 0; i < bytes; i++) wrong += in[r * bytes + i] != value(r, rank, i, round);
  free(out), free(in), free(counts), free(places);
  return wrong;
}

int main(int argc, char** argv) {
  const int lengths[] = {1, 1000, 12000, 16384, 16385, 60000, 100000};
  int wrong = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 12; round++)
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
      for (int sized = 0; sized < 2; sized++) wrong += exchange(lengths[i], round, sized, (rank + round / 3) % 2);
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong bytes\n", all);
  MPI_Finalize();
  return all != 0;
}
