/* SPDX-License-Identifier: Apache-2.0 */
/* check_collectives [--quick] [--events] [COLLECTIVE|barrier|intercommunicators|bottom|wildcards|threads|errors|
 * occupy|communicators=N …]
 * With --events rank 0 prints a line of JSON after each check. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define DATA_MOVING                                                                                                  \
  "bcast", "scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv", "alltoall", "alltoallv", "reduce", \
      "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan", "alltoallw"
static const char* const collectives[] = {DATA_MOVING};
static const char* const everything[] = {"barrier", DATA_MOVING, "neighbours", "intercommunicators",
                                         "bottom",  "wildcards", "threads",    "communicators=40",
                                         "errors"};

static void on(const char* collective, MPI_Comm comm, const char* name, int large, int thorough) {
  if (strcmp(collective, "alltoallw") == 0) {
    check_alltoallw(comm, name, large);
  } else if (is_reduction(collective)) {
    check_reduction(collective, comm, name, large, thorough);
  } else {
    check_movement(collective, comm, name, large, thorough);
  }
}

static void check_collective(const char* collective, int quick) {
  int rank, size;
  MPI_Comm reversed, half, copy;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  on(collective, MPI_COMM_WORLD, "MPI_COMM_WORLD", 0, !quick);
  if (LARGE_COUNTS) on(collective, MPI_COMM_WORLD, "MPI_COMM_WORLD", 1, 0);
  on(collective, MPI_COMM_SELF, "MPI_COMM_SELF", 0, 0);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  on(collective, reversed, "the reversed world", 0, 0);
  MPI_Comm_free(&reversed);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  on(collective, half, rank % 2 ? "the odd ranks" : "the even ranks", 0, 0);
  MPI_Comm_dup(half, &copy);
  MPI_Comm_free(&half);
  on(collective, copy, "a copy of a freed half", 0, 0);
  MPI_Comm_free(&copy);
}

static int check(const char* what, int quick) {
  for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
    if (strcmp(what, collectives[i]) == 0) return check_collective(what, quick), 1;
  }
  if (strcmp(what, "barrier") == 0) return check_barrier(MPI_COMM_WORLD), 1;
  if (strcmp(what, "neighbours") == 0) return check_neighbours(), 1;
  if (strcmp(what, "intercommunicators") == 0) return check_intercommunicators(), 1;
  if (strcmp(what, "bottom") == 0) return check_bottom(), 1;
  if (strcmp(what, "wildcards") == 0) return check_wildcards(), 1;
  if (strcmp(what, "threads") == 0) return check_threads(), 1;
  if (strcmp(what, "errors") == 0) return print_error_classes(), 1;
  if (strcmp(what, "occupy") == 0) return occupy_communicators(), 1;
  if (strncmp(what, "communicators=", 14) == 0) return check_communicators(atoi(what + 14)), 1;
  return 0;
}

/* Adds up the ranks' results on rank 0, by messages, because no collective is trusted here. */
static void add_up(long mine[2]) {
  int rank, size;
  long theirs[2];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank != 0) MPI_Send(mine, 2, MPI_LONG, 0, 99, MPI_COMM_WORLD);
  for (int i = 1; rank == 0 && i < size; i++) {
    MPI_Recv(theirs, 2, MPI_LONG, i, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    mine[0] += theirs[0];
    mine[1] += theirs[1];
  }
}

static int is_first(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

static int checked(const char* what, int quick, int events) {
  long mine[2] = {-passed, -failed};
  if (!check(what, quick)) return 0;
  mine[0] += passed;
  mine[1] += failed;
  if (events) add_up(mine);
  if (events && is_first()) {
    printf("{\"event\": \"checked\", \"what\": \"%s\", \"passed\": %ld, \"failed\": %ld}\n", what, mine[0], mine[1]);
    fflush(stdout);
  }
  return 1;
}

static int check_all(int argc, char** argv, int quick, int events) {
  int unknown = 0;
  for (int i = 0; i < argc; i++) {
    if (checked(argv[i], quick, events)) continue;
    fprintf(stderr, "error: no check is named %s\n", argv[i]);
    unknown = 1;
  }
  for (size_t i = 0; argc == 0 && i < sizeof everything / sizeof *everything; i++)
    checked(everything[i], quick, events);
  return unknown;
}

int main(int argc, char** argv) {
  int provided, size, option = 1, quick = 0, events = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > MAX_RANKS) {
    if (is_first()) fprintf(stderr, "error: at most %d ranks can be checked\n", MAX_RANKS);
    MPI_Finalize();
    return 2;
  }
  for (; option < argc && strncmp(argv[option], "--", 2) == 0; option++) {
    if (strcmp(argv[option], "--quick") == 0) quick = 1;
    if (strcmp(argv[option], "--events") == 0) events = 1;
  }
  make_types();
  int unknown = check_all(argc - option, argv + option, quick, events);
  free_types();
  long mine[2] = {passed, failed};
  add_up(mine);
  if (is_first()) printf("%ld passed, %ld failed\n", mine[0], mine[1]);
  MPI_Finalize();
  return unknown ? 2 : mine[1] > 0;
}
