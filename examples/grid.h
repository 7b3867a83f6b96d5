// SPDX-License-Identifier: Apache-2.0
/* What the grid programs (euler3d, sweep3d, cg3d, adi3d, multigrid) share: a Cartesian grid of ranks, options, a hash
 * of the final state.
 *
 * The hash sums, over all values, a function of the value's bits and its position in the whole grid. So it changes
 * when any bit of any value does, and it does not depend on how the grid is divided. */
#pragma once

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

typedef struct {
  MPI_Comm comm;
  int rank, size;
  int dims[3], place[3];  /* ranks in each direction, and this rank's coordinates */
  int below[3], above[3]; /* neighbours, or MPI_PROC_NULL */
  int all[3];             /* points of the whole grid */
  int first[3], count[3]; /* points of this rank */
} Grid;

/* Options of the command line. The program sets their defaults before. */
typedef struct {
  int all[3];   /* --grid NXxNYxNZ: of the whole grid */
  int local[3]; /* --local N or NXxNYxNZ: of each rank, without --grid */
  int steps;    /* --steps N */
  int warm_up;  /* --warm-up N: steps before the clock starts */
  int extra;    /* a number that each program defines */
  const char* extra_name;
  const char* method; /* --method NAME, in programs that have several */
} Options;

static double* grid_values(size_t count) { return allocate(sizeof(double) * count); }

static int grid_read_size(const char* text, int out[3]) {
  char end;
  if (sscanf(text, "%dx%dx%d%c", &out[0], &out[1], &out[2], &end) == 3) return out[0] > 0 && out[1] > 0 && out[2] > 0;
  if (sscanf(text, "%d%c", &out[0], &end) != 1 || out[0] < 1) return 0;
  out[1] = out[2] = out[0];
  return 1;
}

static int grid_read_number(const char* text, int least, int* out) {
  char end;
  return sscanf(text, "%d%c", out, &end) == 1 && *out >= least;
}

/* Returns 1 if the command line is valid. */
static int grid_read_options(int argc, char** argv, Options* o) {
  for (int i = 1; i < argc; i += 2) {
    const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
    int right = 0;
    if (strcmp(name, "--grid") == 0) right = grid_read_size(value, o->all);
    if (strcmp(name, "--local") == 0) right = grid_read_size(value, o->local);
    if (strcmp(name, "--steps") == 0) right = grid_read_number(value, 1, &o->steps);
    if (strcmp(name, "--warm-up") == 0) right = grid_read_number(value, 0, &o->warm_up);
    if (o->method != NULL && strcmp(name, "--method") == 0) right = *(o->method = value) != 0;
    if (o->extra_name != NULL && strcmp(name, o->extra_name) == 0) right = grid_read_number(value, 1, &o->extra);
    if (!right) return 0;
  }
  return 1;
}

/* Divides the grid among the ranks. Returns 0 if some rank would have fewer than `least` points in a direction. */
static int grid_set_up(Grid* g, const Options* o, const int periodic[3], const int least[3]) {
  MPI_Comm_size(MPI_COMM_WORLD, &g->size);
  MPI_Dims_create(g->size, 3, g->dims);
  MPI_Cart_create(MPI_COMM_WORLD, 3, g->dims, periodic, 0, &g->comm);
  MPI_Comm_rank(g->comm, &g->rank);
  MPI_Cart_coords(g->comm, g->rank, 3, g->place);
  int right = 1;
  for (int d = 0; d < 3; ++d) {
    MPI_Cart_shift(g->comm, d, 1, &g->below[d], &g->above[d]);
    g->all[d] = o->all[0] > 0 ? o->all[d] : o->local[d] * g->dims[d];
    g->first[d] = (int)((int64_t)g->all[d] * g->place[d] / g->dims[d]);
    g->count[d] = (int)((int64_t)g->all[d] * (g->place[d] + 1) / g->dims[d]) - g->first[d];
    right = right && g->all[d] / g->dims[d] >= least[d];
  }
  return right;
}

/* The contribution of one value to the hash. */
static uint64_t grid_hash_of(uint64_t place, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return scramble(bits ^ scramble(place));
}

static uint64_t grid_place(const Grid* g, int x, int y, int z) {
  return ((uint64_t)(g->first[2] + z) * (uint64_t)g->all[1] + (uint64_t)(g->first[1] + y)) * (uint64_t)g->all[0] +
         (uint64_t)(g->first[0] + x);
}

static uint64_t grid_sum_of_hashes(const Grid* g, uint64_t own) {
  uint64_t sum;
  MPI_Allreduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, g->comm);
  return sum;
}

/* Sums over ranks in a fixed order, whatever algorithm the library uses, so that runs can be compared bit for bit. */
static double grid_ordered_sum(const Grid* g, double own) {
  double* parts = grid_values((size_t)g->size);
  MPI_Allgather(&own, 1, MPI_DOUBLE, parts, 1, MPI_DOUBLE, g->comm);
  double sum = 0;
  for (int r = 0; r < g->size; ++r) sum += parts[r];
  free(parts);
  return sum;
}

/* Prints the last lines of each program's output. `own_s` is this rank's time of all steps. */
static void grid_report(const Grid* g, const char* step_name, int steps, double own_s, uint64_t hash, int right) {
  double time_s;
  MPI_Reduce(&own_s, &time_s, 1, MPI_DOUBLE, MPI_MAX, 0, g->comm);
  if (g->rank != 0) return;
  printf("time: %.6f s\n", time_s);
  printf("time per %s: %.6f s\n", step_name, time_s / steps);
  printf("state: %016llx\n", (unsigned long long)hash);
  printf("result: %s\n", right ? "verified" : "WRONG");
}

/* Ends a program with a wrong command line. */
static int grid_usage(const char* text) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) fprintf(stderr, "usage: %s\n", text);
  MPI_Finalize();
  return 2;
}
