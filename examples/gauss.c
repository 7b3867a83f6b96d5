// SPDX-License-Identifier: Apache-2.0
/* A dense linear system, by Gaussian elimination with partial pivoting. Plain MPI; it knows nothing of Antiphon.
 *
 * Row i is on rank i mod P. In step k all ranks agree on the pivot (Allreduce, MAXLOC), its owner broadcasts that row,
 * and row k moves to where the pivot was (Send, Recv); then every rank eliminates in its own rows. The solution follows
 * backwards, with a Bcast of one number for each unknown. So the program has collectives with changing roots and
 * messages between pairs. Afterwards each rank puts the solution into its rows of the original system.
 *
 *   mpirun -n 16 ./gauss [unknowns] [seed]
 */
#include <float.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

typedef struct {
  int rank, size, n;
  uint64_t seed;
  int count;    /* own rows: rank, rank + size, … */
  size_t width; /* numbers in a row: coefficients, then the right side */
  double *rows, *pivot, *solution;
  double pivot_s, bcast_s, swap_s, eliminate_s, back_s;
} System;

typedef struct {
  double value;
  int row;
} Candidate; /* MPI_DOUBLE_INT */

/* Column n is the right side. Values are uniform in [-1, 1). */
static double coefficient(const System* s, int row, int column) {
  const uint64_t bits = scramble(s->seed ^ scramble((uint64_t)row * s->width + (uint64_t)column));
  return (double)(bits >> 11) * 0x1p-52 - 1;
}

static double* row_of(const System* s, int row) { return s->rows + (size_t)(row / s->size) * s->width; }

/* Returns the smallest of this rank's rows from `row` on. */
static int own_from(const System* s, int row) { return row + (s->rank - row % s->size + s->size) % s->size; }

static void set_up(System* s) {
  s->width = (size_t)s->n + 1;
  s->count = (s->n - s->rank + s->size - 1) / s->size;
  if (s->rank >= s->n) s->count = 0;
  s->rows = allocate(sizeof(double) * (size_t)s->count * s->width);
  s->pivot = allocate(sizeof(double) * s->width);
  s->solution = allocate(sizeof(double) * (size_t)s->n);
  for (int i = s->rank; i < s->n; i += s->size) {
    for (int j = 0; j <= s->n; ++j) row_of(s, i)[j] = coefficient(s, i, j);
  }
}

/* Returns the row with the largest coefficient of unknown k; the lowest of equal ones. */
static int find_pivot(const System* s, int k) {
  Candidate own = {-1, s->n}, best;
  for (int i = own_from(s, k); i < s->n; i += s->size) {
    const double value = fabs(row_of(s, i)[k]);
    if (value > own.value) own = (Candidate){value, i};
  }
  MPI_Allreduce(&own, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  return best.row;
}

/* Moves row k to where the pivot was, and the pivot, which all ranks already have, to row k. */
static void swap_rows(System* s, int k, int chosen) {
  const size_t bytes = sizeof(double) * (s->width - (size_t)k);
  const int length = s->n + 1 - k, here = k % s->size == s->rank, there = chosen % s->size == s->rank;
  if (chosen == k) return;
  if (here && there) {
    memcpy(row_of(s, chosen) + k, row_of(s, k) + k, bytes);
  } else if (here) {
    MPI_Send(row_of(s, k) + k, length, MPI_DOUBLE, chosen % s->size, 0, MPI_COMM_WORLD);
  } else if (there) {
    MPI_Recv(row_of(s, chosen) + k, length, MPI_DOUBLE, k % s->size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (here) memcpy(row_of(s, k) + k, s->pivot + k, bytes);
}

static void eliminate(System* s, int k) {
  const double* const pivot = s->pivot;
  for (int i = own_from(s, k + 1); i < s->n; i += s->size) {
    double* const own = row_of(s, i);
    const double factor = own[k] / pivot[k];
    for (int j = k + 1; j <= s->n; ++j) own[j] -= factor * pivot[j];
  }
}

/* Returns 0 if the matrix is singular. */
static int forward(System* s) {
  for (int k = 0; k < s->n; ++k) {
    double t = MPI_Wtime(), now;
    const int chosen = find_pivot(s, k);
    now = MPI_Wtime(), s->pivot_s += now - t, t = now;
    if (chosen % s->size == s->rank)
      memcpy(s->pivot + k, row_of(s, chosen) + k, sizeof(double) * (s->width - (size_t)k));
    MPI_Bcast(s->pivot + k, s->n + 1 - k, MPI_DOUBLE, chosen % s->size, MPI_COMM_WORLD);
    now = MPI_Wtime(), s->bcast_s += now - t, t = now;
    if (s->pivot[k] == 0) return 0;
    swap_rows(s, k, chosen);
    now = MPI_Wtime(), s->swap_s += now - t, t = now;
    eliminate(s, k);
    s->eliminate_s += MPI_Wtime() - t;
  }
  return 1;
}

static void backward(System* s) {
  const double t = MPI_Wtime();
  for (int k = s->n - 1; k >= 0; --k) {
    if (k % s->size == s->rank) s->solution[k] = row_of(s, k)[s->n] / row_of(s, k)[k];
    MPI_Bcast(&s->solution[k], 1, MPI_DOUBLE, k % s->size, MPI_COMM_WORLD);
    for (int i = s->rank; i < k; i += s->size) row_of(s, i)[s->n] -= row_of(s, i)[k] * s->solution[k];
  }
  s->back_s += MPI_Wtime() - t;
}

/* Returns each equation's error relative to what rounding may cause: n times the largest term that occurs. */
static int verify(const System* s) {
  double own = 0, worst, largest = 1;
  for (int j = 0; j < s->n; ++j) largest = fmax(largest, fabs(s->solution[j]));
  for (int i = s->rank; i < s->n; i += s->size) {
    double error = -coefficient(s, i, s->n);
    for (int j = 0; j < s->n; ++j) error += coefficient(s, i, j) * s->solution[j];
    error = fabs(error) / (DBL_EPSILON * s->n * largest);
    if (!(error <= own)) own = error; /* also true if `error` is not a number */
  }
  if (own != own) own = HUGE_VAL;
  MPI_Allreduce(&own, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (s->rank == 0) printf("largest error: %.3g of what rounding may cause\n", worst / 16);
  return worst <= 16;
}

static void report(const System* s, double own_s, int right) {
  double own[5] = {s->pivot_s, s->bcast_s, s->swap_s, s->eliminate_s, s->back_s}, mean[5], time_s;
  MPI_Reduce(own, mean, 5, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&own_s, &time_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (s->rank != 0) return;
  for (int i = 0; i < 5; ++i) mean[i] /= s->size;
  printf("gauss: %d unknowns on %d ranks\n", s->n, s->size);
  printf("phases (mean over ranks): allreduce %.4f s, bcast %.4f s, swap %.4f s, eliminate %.4f s, back %.4f s\n",
         mean[0], mean[1], mean[2], mean[3], mean[4]);
  printf("traffic: %d x allreduce 16 B, %d x bcast %d B, %d x bcast 8 B\n", s->n, s->n, 4 * s->n, s->n);
  printf("time: %.6f s\n", time_s);
  printf("result: %s\n", right ? "verified" : "WRONG");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static System s;
  MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s.size);
  s.n = argc > 1 ? atoi(argv[1]) : 512;
  s.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  if (s.n < 1 || s.n > 65536 || argc > 3) {
    if (s.rank == 0) fprintf(stderr, "usage: gauss [unknowns, 1 to 65536] [seed]\n");
    MPI_Finalize();
    return 2;
  }
  set_up(&s);
  MPI_Barrier(MPI_COMM_WORLD);
  double time_s = MPI_Wtime();
  int right = forward(&s);
  if (right) backward(&s);
  time_s = MPI_Wtime() - time_s;
  right = right && verify(&s);
  report(&s, time_s, right);
  MPI_Finalize();
  return right ? 0 : 1;
}
