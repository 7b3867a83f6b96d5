// SPDX-License-Identifier: Apache-2.0
/* Implicit heat along many lines at once, by pipelined conjugate gradients. Plain MPI; it knows nothing of Antiphon.
 *
 * The lines run through all ranks, each of which has `points` of every line. Each line is a system of its own, with its
 * own conductivity. An iteration needs two dot products a line; MPI_Iallreduce sums those of all lines while the matrix
 * is applied (Ghysels and Vanroose: Hiding global synchronization latency in the preconditioned conjugate gradient
 * algorithm, 2014), for which neighbours exchange a point of each line. The residuals are checked by their definition.
 *
 *   mpirun -n 16 ./lines_cg [lines] [points of a line on each rank] [repetitions]
 */
#include <math.h>

#include "base.h"

enum { most_iterations = 400, vectors = 9 };
static const double tolerance = 1e-9;

typedef struct {
  int lines, points, rank, size, iterations;
  size_t numbers; /* of a vector: each point of all lines, one point after the other */
  double *right, *x, *r, *w, *q, *z, *s, *p, *check;
  double *conducts, *left_ghost, *right_ghost, *local, *sums, *last, *alpha, *beta;
} Lines;

static double source(int point, int line) {
  return (double)(scramble((uint64_t)point * 100003u + (uint64_t)line) % 1000) / 1000 - 0.5;
}

static void make(Lines* l) {
  const size_t m = (size_t)l->lines;
  double** const all[vectors] = {&l->right, &l->x, &l->r, &l->w, &l->q, &l->z, &l->s, &l->p, &l->check};
  double** const by_line[] = {&l->conducts, &l->left_ghost, &l->right_ghost, &l->last, &l->alpha, &l->beta};
  l->numbers = m * (size_t)l->points;
  for (int v = 0; v < vectors; v++) *all[v] = allocate(sizeof(double) * l->numbers);
  for (size_t v = 0; v < sizeof by_line / sizeof *by_line; v++) *by_line[v] = allocate(sizeof(double) * m);
  l->local = allocate(sizeof(double) * 2 * m);
  l->sums = allocate(sizeof(double) * 2 * m);
  for (int i = 0; i < l->lines; i++) l->conducts[i] = 20 + i % 13;
  for (int k = 0; k < l->points; k++)
    for (int i = 0; i < l->lines; i++) l->right[(size_t)k * m + (size_t)i] = source(l->rank * l->points + k, i);
}

/* to = A from; the ends of lines are kept at zero from outside. */
static void apply(const Lines* l, const double* from, double* to) {
  const int m = l->lines, before = l->rank > 0 ? l->rank - 1 : MPI_PROC_NULL,
            after = l->rank + 1 < l->size ? l->rank + 1 : MPI_PROC_NULL;
  const double* const end = from + l->numbers - m;
  MPI_Request requests[4];
  MPI_Irecv(l->left_ghost, m, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(l->right_ghost, m, MPI_DOUBLE, after, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(from, m, MPI_DOUBLE, before, 2, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(end, m, MPI_DOUBLE, after, 1, MPI_COMM_WORLD, &requests[3]);
  for (int pass = 0; pass < 2;
       pass++) { /* the points between come first, those at the borders when their ghosts are here */
    if (pass == 1) MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < l->points; k++) {
      if ((k == 0 || k + 1 == l->points) != (pass == 1)) continue;
      const double* const here = from + (size_t)k * (size_t)m;
      const double* const low = k == 0 ? l->left_ghost : here - m;
      const double* const high = k + 1 == l->points ? l->right_ghost : here + m;
      for (int i = 0; i < m; i++)
        to[(size_t)k * (size_t)m + (size_t)i] = here[i] + l->conducts[i] * (2 * here[i] - low[i] - high[i]);
    }
  }
}

/* Sums of this rank: (r, r) of each line, then (w, r). */
static void dot_products(const Lines* l) {
  const size_t m = (size_t)l->lines;
  for (size_t i = 0; i < 2 * m; i++) l->local[i] = 0;
  for (size_t n = 0; n < l->numbers; n += m) {
    for (size_t i = 0; i < m; i++) {
      l->local[i] += l->r[n + i] * l->r[n + i];
      l->local[m + i] += l->w[n + i] * l->r[n + i];
    }
  }
}

/* Returns whether some line is not solved. A line that is stays as it is. */
static int next_steps(Lines* l, const double* first) {
  const size_t m = (size_t)l->lines;
  int goes_on = 0;
  for (size_t i = 0; i < m; i++) {
    const double gamma = l->sums[i], delta = l->sums[m + i];
    const int open = gamma > tolerance * tolerance * first[i];
    goes_on |= open;
    l->beta[i] = open && l->last[i] > 0 ? gamma / l->last[i] : 0;
    const double below = l->last[i] > 0 ? delta - l->beta[i] * gamma / l->alpha[i] : delta;
    l->alpha[i] = open && below != 0 ? gamma / below : 0;
    l->last[i] = open ? gamma : 0;
  }
  return goes_on;
}

static void update(const Lines* l) {
  const size_t m = (size_t)l->lines;
  for (size_t n = 0; n < l->numbers; n += m) {
    for (size_t i = 0, j = n; i < m; i++, j++) {
      const double alpha = l->alpha[i], beta = l->beta[i];
      l->z[j] = l->q[j] + beta * l->z[j];
      l->s[j] = l->w[j] + beta * l->s[j];
      l->p[j] = l->r[j] + beta * l->p[j];
      l->x[j] += alpha * l->p[j];
      l->r[j] -= alpha * l->s[j];
      l->w[j] -= alpha * l->z[j];
    }
  }
}

static void solve(Lines* l) {
  const size_t m = (size_t)l->lines;
  double* const first = allocate(sizeof(double) * m);
  for (size_t n = 0; n < l->numbers; n++) l->x[n] = l->z[n] = l->s[n] = l->p[n] = 0, l->r[n] = l->right[n];
  for (size_t i = 0; i < m; i++) l->last[i] = l->alpha[i] = 0;
  apply(l, l->r, l->w);
  for (l->iterations = 0; l->iterations < most_iterations; l->iterations++) {
    MPI_Request request;
    dot_products(l);
    MPI_Iallreduce(l->local, l->sums, 2 * l->lines, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    apply(l, l->w, l->q);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (size_t i = 0; l->iterations == 0 && i < m; i++) first[i] = l->sums[i];
    if (!next_steps(l, first)) break;
    update(l);
  }
  free(first);
}

/* Returns the largest part that is left of a right-hand side, over all lines. */
static double residual(Lines* l) {
  double here[2] = {0, 0}, all[2];
  apply(l, l->x, l->check);
  for (size_t n = 0; n < l->numbers; n++) {
    here[0] = fmax(here[0], fabs(l->right[n] - l->check[n]));
    here[1] = fmax(here[1], fabs(l->right[n]));
  }
  MPI_Allreduce(here, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all[0] / all[1];
}

int main(int argc, char** argv) {
  static Lines l;
  const int repetitions = argc > 3 ? atoi(argv[3]) : 5;
  double left = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &l.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &l.size);
  l.lines = argc > 1 ? atoi(argv[1]) : 512;
  l.points = argc > 2 ? atoi(argv[2]) : 16;
  if (l.lines < 1 || l.points < 2 || repetitions < 1) {
    if (l.rank == 0)
      fprintf(stderr, "usage: lines_cg [lines] [points of a line on each rank, 2 or more] [repetitions]\n");
    MPI_Finalize();
    return 2;
  }
  make(&l);
  solve(&l); /* makes connections */
  MPI_Barrier(MPI_COMM_WORLD);
  const double start_s = MPI_Wtime();
  for (int i = 0; i < repetitions; i++) solve(&l);
  MPI_Barrier(MPI_COMM_WORLD);
  const double solve_s = (MPI_Wtime() - start_s) / repetitions;
  left = residual(&l);
  if (l.rank == 0) {
    printf("lines_cg: %d lines, %d ranks: %.2f ms a solution, %d iterations, %.2g of the right-hand side left\n",
           l.lines, l.size, 1e3 * solve_s, l.iterations, left);
    puts(left < 1e-7 ? "verified" : "WRONG");
  }
  MPI_Finalize();
  return left >= 1e-7;
}
