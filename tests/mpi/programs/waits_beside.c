/* SPDX-License-Identifier: Apache-2.0 */
/* All ranks start a persistent reduction. Rank 0 waits for it and then comes to a blocking call, in which all others
 * wait first: the reduction must go on there. Prints "verified". Arguments: the blocking calls, one or more of
 *   replace, neighbours, neighbours_c, gatherv, gatherv_c, gatherv_far, alltoallv, control1 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "antiphon.h"
#include "verdict.h"

enum { most_ranks = 8, count = 40000, block = 30 };

static int rank, size, next, previous;
static long wrong;
static MPI_Comm ring;

static void replace(int number) {
  static int data[count];
  MPI_Status status;
  int received = 0;
  for (int i = 0; i < count; i++) data[i] = rank + number + i;
  MPI_Sendrecv_replace(data, count, MPI_INT, next, number, previous, number, ring, &status);
  MPI_Get_count(&status, MPI_INT, &received);
  wrong += received != count || status.MPI_SOURCE != previous;
  for (int i = 0; i < count; i++) wrong += data[i] != previous + number + i;
}

static void neighbours(int number) {
  int mine[block], theirs[block];
  for (int i = 0; i < block; i++) mine[i] = rank + number + i;
  MPI_Neighbor_allgather(mine, block, MPI_INT, theirs, block, MPI_INT, ring);
  for (int i = 0; i < block; i++) wrong += theirs[i] != previous + number + i;
}

static void gatherv(int number) {
  int mine[block], all[most_ranks * block], counts[most_ranks], offsets[most_ranks];
  for (int i = 0; i < block; i++) mine[i] = rank + number + i;
  for (int r = 0; r < size; r++) counts[r] = r + 1, offsets[r] = r * block;
  MPI_Gatherv(mine, rank + 1, MPI_INT, all, counts, offsets, MPI_INT, 0, ring);
  for (int r = 0; rank == 0 && r < size; r++)
    for (int i = 0; i <= r; i++) wrong += all[r * block + i] != r + number + i;
}

#if MPI_VERSION >= 4
/* Only the root has counts, and these are large ones. Elsewhere they are rubbish. */
static void gatherv_c(int number) {
  int mine[block], all[most_ranks * block];
  MPI_Count counts[most_ranks];
  MPI_Aint offsets[most_ranks];
  void* const nowhere = (void*)16;
  for (int i = 0; i < block; i++) mine[i] = rank + number + i;
  for (int r = 0; r < size; r++) counts[r] = r + 1, offsets[r] = r * block;
  MPI_Gatherv_c(mine, rank + 1, MPI_INT, rank == 0 ? all : nowhere, rank == 0 ? counts : nowhere,
                rank == 0 ? offsets : nowhere, MPI_INT, 0, ring);
  for (int r = 0; rank == 0 && r < size; r++)
    for (int i = 0; i <= r; i++) wrong += all[r * block + i] != r + number + i;
}

/* One block lies farther away than an int can say, which the root alone knows. */
static void gatherv_far(int number) {
  const MPI_Aint far_away = (MPI_Aint)1 << 32;
  static char* all;
  char mine[block];
  MPI_Count counts[most_ranks];
  MPI_Aint offsets[most_ranks];
  if (all == NULL)
    all = mmap(NULL, (size_t)far_away + block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
               0);
  for (int i = 0; i < block; i++) mine[i] = (char)(rank + number + i);
  for (int r = 0; r < size; r++) counts[r] = block, offsets[r] = r == size - 1 ? far_away : r * block;
  MPI_Gatherv_c(mine, block, MPI_CHAR, all, counts, offsets, MPI_CHAR, 0, ring);
  for (int r = 0; rank == 0 && r < size; r++)
    for (int i = 0; i < block; i++) wrong += all[offsets[r] + i] != (char)(r + number + i);
}

/* There is one neighbour on each side, and so nobody may look at a second count. */
static void neighbours_c(int number) {
  int mine[block], theirs[block];
  const MPI_Count counts[] = {block, (MPI_Count)1 << 40};
  const MPI_Aint offsets[] = {0, (MPI_Aint)1 << 40};
  for (int i = 0; i < block; i++) mine[i] = rank + number + i;
  MPI_Neighbor_alltoallv_c(mine, counts, offsets, MPI_INT, theirs, counts, offsets, MPI_INT, ring);
  for (int i = 0; i < block; i++) wrong += theirs[i] != previous + number + i;
}
#else
#define gatherv_c(number) (void)(number)
#define gatherv_far(number) (void)(number)
#define neighbours_c(number) (void)(number)
#endif

static void alltoallv(int number) {
  int mine[most_ranks * block], all[most_ranks * block], counts[most_ranks], offsets[most_ranks];
  for (int r = 0; r < size; r++) counts[r] = 1 + (r + rank + number) % block, offsets[r] = r * block;
  for (int i = 0; i < size * block; i++) mine[i] = rank + number + i;
  MPI_Alltoallv(mine, counts, offsets, MPI_INT, all, counts, offsets, MPI_INT, ring);
  for (int r = 0; r < size; r++)
    for (int i = 0; i < counts[r]; i++) wrong += all[r * block + i] != r + number + rank * block + i;
}

static void control1(void) {
  int counts[most_ranks];
  antiphon_schedule schedule;
  for (int r = 0; r < size; r++) counts[r] = block;
  wrong += antiphon_alltoallv_control1(counts, MPI_INT, ring, &schedule) != ANTIPHON_OK;
  antiphon_schedule_free(&schedule);
}

static void call(const char* name, int number) {
  if (strcmp(name, "replace") == 0) replace(number);
  else if (strcmp(name, "neighbours") == 0) neighbours(number);
  else if (strcmp(name, "neighbours_c") == 0) neighbours_c(number);
  else if (strcmp(name, "gatherv") == 0) gatherv(number);
  else if (strcmp(name, "gatherv_c") == 0) gatherv_c(number);
  else if (strcmp(name, "gatherv_far") == 0) gatherv_far(number);
  else if (strcmp(name, "control1") == 0) control1();
  else alltoallv(number);
}

int main(int argc, char** argv) {
  static int to[count], sums[count];
  int one = 1;
  MPI_Request reduction;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, &one, 1, &next, &one, MPI_INFO_NULL, 0, &ring);
  MPI_Allreduce_init(to, sums, count, MPI_INT, MPI_SUM, ring, MPI_INFO_NULL, &reduction);
  for (int number = 0; number < 6; number++)
    for (int c = 1; c < argc; c++) {
      for (int i = 0; i < count; i++) to[i] = rank + number + i;
      MPI_Start(&reduction);
      if (rank == 0) MPI_Wait(&reduction, MPI_STATUS_IGNORE);
      call(argv[c], number);
      if (rank != 0) MPI_Wait(&reduction, MPI_STATUS_IGNORE);
      for (int i = 0; i < count; i++) wrong += sums[i] != size * (number + i) + size * (size - 1) / 2;
    }
  MPI_Request_free(&reduction);
  tell_verdict(wrong);
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return 0;
}
