/* SPDX-License-Identifier: Apache-2.0 */
/* Ten collectives of ints among any number of ranks, few sizes and roots, every result checked. Prints how many ints
   are wrong, and the largest memory of a rank after MPI_Init and at the end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static int *out, *in, *counts, *places;
static long wrong;

static int value(int from, int to, int place) { return from * 1009 + to * 31 + place * 7 + 1; }

/* Returns the sum of what ranks before `end` have for `to`. */
static int sum(int end, int to, int place) {
  int total = 0;
  for (int r = 0; r < end; r++) total += value(r, to, place);
  return total;
}

static void expect(int got, int wanted) { wrong += got != wanted; }

static void fill(int from, int to, int block, int count) {
  for (int i = 0; i < count; i++) out[block * count + i] = value(from, to, i);
}

static void rooted(int root, int count) {
  fill(rank == root ? root : -1, 0, 0, count);
  MPI_Bcast(out, count, MPI_INT, root, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++) expect(out[i], value(root, 0, i));
  fill(rank, 0, 0, count);
  MPI_Reduce(out, in, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  for (int i = 0; rank == root && i < count; i++) expect(in[i], sum(size, 0, i));
  MPI_Gather(out, count, MPI_INT, in, count, MPI_INT, root, MPI_COMM_WORLD);
  for (int r = 0; rank == root && r < size; r++)
    for (int i = 0; i < count; i++) expect(in[r * count + i], value(r, 0, i));
  for (int r = 0; r < size; r++) fill(rank, r, r, count);
  MPI_Scatter(out, count, MPI_INT, in, count, MPI_INT, root, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++) expect(in[i], value(root, rank, i));
}

static void of_one_block(int count) {
  fill(rank, 0, 0, count);
  MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++) expect(in[i], sum(size, 0, i));
  MPI_Scan(out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++) expect(in[i], sum(rank + 1, 0, i));
  MPI_Allgather(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; r++)
    for (int i = 0; i < count; i++) expect(in[r * count + i], value(r, 0, i));
}

static void expect_blocks(int count) {
  for (int r = 0; r < size; r++)
    for (int i = 0; i < count; i++) expect(in[r * count + i], value(r, rank, i));
  memset(in, 0, sizeof(int) * (size_t)size * (size_t)count);
}

static void of_blocks(int count) {
  for (int r = 0; r < size; r++) {
    fill(rank, r, r, count);
    counts[r] = count;
    places[r] = r * count;
  }
  MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
  expect_blocks(count);
  MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
  expect_blocks(count);
  MPI_Reduce_scatter_block(out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++) expect(in[i], sum(size, rank, i));
}

static double largest_memory_mib(void) {
  double here = 0, most = 0;
  char line[200];
  FILE* status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "VmHWM:", 6) == 0) here = atof(line + 6) / 1024;
  if (status != NULL) fclose(status);
  MPI_Reduce(&here, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return most;
}

int main(int argc, char** argv) {
  const int lengths[] = {2, 256, 4096};
  long all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double first_mib = largest_memory_mib();
  const size_t most = sizeof(int) * 4096 * (size_t)size;
  out = malloc(most), in = calloc(1, most);
  counts = malloc(sizeof(int) * (size_t)size), places = malloc(sizeof(int) * (size_t)size);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const int roots[] = {0, size / 2, size - 1};
    for (int r = 0; r < 3; r++) rooted(roots[r], lengths[i]);
    of_one_block(lengths[i]);
    of_blocks(lengths[i] < 256 ? lengths[i] : 256);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  const double last_mib = largest_memory_mib() - 2.0 * (double)most / (1 << 20);
  if (rank == 0) printf("%d ranks: %ld wrong; MiB: %.1f, then %.1f\n", size, all, first_mib, last_mib);
  free(out), free(in), free(counts), free(places);
  MPI_Finalize();
  return all != 0;
}
