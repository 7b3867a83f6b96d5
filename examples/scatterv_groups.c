/* SPDX-License-Identifier: Apache-2.0 */
/* One root scatters to a few ranks of a large communicator, again and again: paper 1, §5.1, Figure 10. Four ways take
 * turns:
 *
 *   library    MPI_Scatterv of the MPI library
 *   static     one multicast group of all ranks; a multicast tells all the sizes first
 *   dynamic    like static, but each call makes a group of those who receive something, and leaves it afterwards
 *   compiled   antiphon_scatterv_open_group before the loop, antiphon_scatterv_data_movement in it (with a group of the
 *              receivers only)
 *
 *   mpirun -n 29 ./scatterv_groups [RECEIVERS [CALLS [BYTES …]]]
 *
 * Rank 0 prints a JSON line for each way and size: the slowest rank's time of each call after a barrier, and of CALLS
 * calls back to back divided by their number. Every byte is compared. Without Antiphon only the library is measured.
 *
 * Exit code: 0 right, 1 some data were wrong, 2 usage or no group.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "antiphon.h"

enum way { LIBRARY, STATIC, DYNAMIC, COMPILED, WAYS };
static const char* const names[WAYS] = {"library", "static", "dynamic", "compiled"};
static const char* const choices[WAYS] = {"library", "multicast:members=0", "multicast:members=2", "library"};
enum { ROUNDS = 15 };

static int rank, size, receivers, calls;
static long wrong;
static unsigned char *all, *mine;
static int *counts, *displs;

static unsigned char byte_of(int call, int to, long at) {
  return (unsigned char)((unsigned)call * 131u + (unsigned)to * 29u + (unsigned)at * 7u);
}

/* Receivers are spread over the communicator, after the root. */
static int receiver(int i) { return 1 + i * (size - 1) / receivers; }

static void set_sizes(int bytes) {
  memset(counts, 0, (size_t)size * sizeof *counts);
  for (int i = 0; i < receivers; ++i) counts[receiver(i)] = bytes;
  for (int i = 1; i < size; ++i) displs[i] = displs[i - 1] + counts[i - 1];
}

static void fill(int call) {
  for (int to = 0; rank == 0 && to < size; ++to) {
    for (int i = 0; i < counts[to]; ++i) all[displs[to] + i] = byte_of(call, to, i);
  }
  memset(mine, 0xee, (size_t)counts[rank]);
}

static void check(int call) {
  for (int i = 0; i < counts[rank]; ++i) wrong += mine[i] != byte_of(call, rank, i);
}

static void scatter(MPI_Comm comm, antiphon_group group) {
  if (group) {
    if (antiphon_scatterv_data_movement(all, counts, displs, MPI_BYTE, mine, counts[rank], MPI_BYTE, group) !=
        ANTIPHON_OK)
      ++wrong;
  } else {
    MPI_Scatterv(all, counts, displs, MPI_BYTE, mine, counts[rank], MPI_BYTE, 0, comm);
  }
}

/* Returns the slowest rank's seconds for `n` calls, at rank 0. */
static double timed(MPI_Comm comm, antiphon_group group, int n, int call) {
  double took, slowest = 0;
  fill(call);
  MPI_Barrier(MPI_COMM_WORLD);
  took = MPI_Wtime();
  for (int i = 0; i < n; ++i) scatter(comm, group);
  took = MPI_Wtime() - took;
  check(call);
  MPI_Reduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return slowest / n;
}

static void print(const char* way, int bytes, const char* mode, const double* seconds, const char* chosen) {
  printf(
      "{\"way\": \"%s\", \"bytes\": %d, \"receivers\": %d, \"ranks\": %d, \"mode\": \"%s\", \"chosen\": \"%s\", "
      "\"samples\": [",
      way, bytes, receivers, size, mode, chosen);
  for (int i = 0; i < ROUNDS; ++i) printf("%s%.9f", i ? ", " : "", seconds[i]);
  printf("]}\n");
  fflush(stdout);
}

/* Measures all ways at one size. Returns 0, or 2 if no group could be made. */
static int measure(MPI_Comm comms[WAYS], int ways, int bytes) {
  static double sync[WAYS][ROUNDS], throughput[WAYS][ROUNDS];
  antiphon_group group = NULL;
  set_sizes(bytes);
  if (ways > COMPILED && antiphon_scatterv_open_group(counts, MPI_BYTE, 0, comms[COMPILED], &group) != ANTIPHON_OK)
    return 2;
  for (int round = -1; round < ROUNDS; ++round) { /* the first round warms up */
    for (int turn = 0; turn < ways; ++turn) {
      const int way = (turn + round + 1) % ways, at = round < 0 ? 0 : round;
      antiphon_group const with = way == COMPILED ? group : NULL;
      sync[way][at] = timed(comms[way], with, 1, round * WAYS + way);
      throughput[way][at] = timed(comms[way], with, calls, round * WAYS + way + 100);
    }
  }
  for (int way = 0; way < ways; ++way) {
    char chosen[256] = "library";
    if (way == COMPILED) strcpy(chosen, antiphon_group_multicasts(group) ? "multicast" : "messages");
    else antiphon_chosen(comms[way], "scatterv", chosen, sizeof chosen);
    if (rank == 0) print(names[way], bytes, "sync", sync[way], chosen);
    if (rank == 0) print(names[way], bytes, "throughput", throughput[way], chosen);
  }
  return antiphon_close_group(&group) == ANTIPHON_OK || ways <= COMPILED ? 0 : 2;
}

int main(int argc, char** argv) {
  static const int usual[] = {1024, 4096, 16384, 65536};
  int rc = 0;
  long sum = 0;
  MPI_Comm comms[WAYS];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  receivers = argc > 1 ? atoi(argv[1]) : 5;
  calls = argc > 2 ? atoi(argv[2]) : 10;
  const int sizes = argc > 3 ? argc - 3 : 4;
  int largest = 1;
  for (int i = 0; i < sizes; ++i) {
    const int bytes = argc > 3 ? atoi(argv[3 + i]) : usual[i];
    if (bytes > largest) largest = bytes;
  }
  if (receivers < 1 || receivers >= size || calls < 1) {
    if (rank == 0) fprintf(stderr, "scatterv_groups: from 1 to %d receivers, at least 1 call\n", size - 1);
    MPI_Finalize();
    return 2;
  }
  all = malloc((size_t)largest * (size_t)receivers);
  mine = malloc((size_t)largest);
  counts = calloc((size_t)size, sizeof *counts);
  displs = calloc((size_t)size, sizeof *displs);
  const int ways = antiphon_version() ? WAYS : 1;
  for (int way = 0; way < ways; ++way) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[way]);
    antiphon_force(comms[way], "scatterv", choices[way]);
  }
  for (int i = 0; i < sizes && rc == 0; ++i) rc = measure(comms, ways, argc > 3 ? atoi(argv[3 + i]) : usual[i]);
  MPI_Reduce(&wrong, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Bcast(&sum, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  if (rank == 0) fprintf(stderr, "scatterv_groups: %ld wrong\n", sum);
  for (int way = 0; way < ways; ++way) MPI_Comm_free(&comms[way]);
  MPI_Finalize();
  return rc != 0 ? rc : sum != 0;
}
