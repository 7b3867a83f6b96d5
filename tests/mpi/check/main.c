/* SPDX-License-Identifier: Apache-2.0 */
/* check_collectives [--quick] [COLLECTIVE|barrier|intercommunicators|bottom|wildcards|threads|errors|communicators=N …]
 */
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
  if (strncmp(what, "communicators=", 14) == 0) return check_communicators(atoi(what + 14)), 1;
  return 0;
}

/* Gathers the ranks' results by messages, because no collective is trusted here. */
static int collect(void) {
  int rank, size;
  long mine[2] = {passed, failed}, theirs[2];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank != 0) {
    MPI_Send(mine, 2, MPI_LONG, 0, 99, MPI_COMM_WORLD);
    return failed > 0;
  }
  for (int i = 1; i < size; i++) {
    MPI_Recv(theirs, 2, MPI_LONG, i, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    mine[0] += theirs[0];
    mine[1] += theirs[1];
  }
  printf("%ld passed, %ld failed\n", mine[0], mine[1]);
  return mine[1] > 0;
}

int main(int argc, char** argv) {
  int provided, quick = argc > 1 && strcmp(argv[1], "--quick") == 0, unknown = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  make_types();
  int named = argc - 1 - quick;
  for (int i = 1 + quick; i < argc; i++) {
    if (check(argv[i], quick)) continue;
    fprintf(stderr, "error: no check is named %s\n", argv[i]);
    unknown = 1;
  }
  for (size_t i = 0; named == 0 && i < sizeof everything / sizeof *everything; i++) check(everything[i], quick);
  free_types();
  int result = collect();
  MPI_Finalize();
  return unknown ? 2 : result;
}
