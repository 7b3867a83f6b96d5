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

enum { equal, sized, ways };

static int* counts_of(int bytes) {
  int* counts = malloc(sizeof(int) * (size_t)size);
  for (int r = 0; r < size; r++) counts[r] = bytes;
  return counts;
}

static void fill(unsigned char* out, int bytes, int round) {
  for (int r = 0; r < size; r++)
    for (int i = 0; i < bytes; i++) out[r * bytes + i] = value(rank, r, i, round);
}

static int wrong_bytes(const unsigned char* in, int bytes, int round) {
  int wrong = 0;
  for (int r = 0; r < size; r++)
    for (int i = 0; i < bytes; i++) wrong += in[r * bytes + i] != value(r, rank, i, round);
  return wrong;
}

/* Tells whether this rank computes in that round. */
static int computes(int round) { return (rank + round / 3) % 2; }

/* Returns the number of wrong bytes of one exchange, in which this rank computes or not. */
static int exchange(int bytes, int round, int way) {
  unsigned char *out = malloc((size_t)bytes * (size_t)size), *in = calloc((size_t)size, (size_t)bytes);
  int *counts = counts_of(bytes), *places = malloc(sizeof(int) * (size_t)size);
  MPI_Request request;
  for (int r = 0; r < size; r++) places[r] = r * bytes;
  fill(out, bytes, round);
  if (way == sized)
    MPI_Ialltoallv(out, counts, places, MPI_BYTE, in, counts, places, MPI_BYTE, MPI_COMM_WORLD, &request);
  else MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
  if (computes(round)) usleep(5000);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const int wrong = wrong_bytes(in, bytes, round);
  free(out), free(in), free(counts), free(places);
  return wrong;
}

/* The same of one persistent operation, in all rounds. */
static int exchange_again(int bytes, int rounds) {
  unsigned char *out = malloc((size_t)bytes * (size_t)size), *in = calloc((size_t)size, (size_t)bytes);
  int wrong = 0;
  MPI_Request request;
  MPI_Alltoall_init(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int round = 0; round < rounds; round++) {
    fill(out, bytes, round);
    MPI_Start(&request);
    if (computes(round)) usleep(5000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += wrong_bytes(in, bytes, round);
  }
  MPI_Request_free(&request);
  free(out), free(in);
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
      for (int way = 0; way < ways; way++) wrong += exchange(lengths[i], round, way);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) wrong += exchange_again(lengths[i], 12);
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong bytes\n", all);
  MPI_Finalize();
  return all != 0;
}
