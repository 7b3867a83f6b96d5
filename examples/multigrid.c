// SPDX-License-Identifier: Apache-2.0
/* The potential of some charges in a periodic box, by V-cycles of multigrid. Plain MPI; it knows nothing of Antiphon.
 *
 * Each level has half as many points in each direction as the one above, on the same ranks. Values around a rank's
 * block, edges and corners too, come in three exchanges with neighbours (Irecv, Isend, Waitall): long messages on the
 * finest level, and ever shorter ones below. After each cycle the residual's norm is summed over all ranks. The
 * program checks that each cycle reduces the residual, and that the potential's mean stays zero.
 *
 *   mpirun -n 16 ./multigrid [--local N or NxNxN | --grid NXxNYxNZ] [--steps N] [--warm-up N] [--levels N]
 */
#include <math.h>

#include "grid.h"

enum { most_levels = 12, sweeps = 2, last_sweeps = 40, charges = 20 };

typedef struct {
  int count[3];
  size_t row, plane, values; /* with one layer of ghosts all round */
  double square;             /* of the distance between points; 1 on the finest level */
  double *potential, *other, *charge;
} Level;

typedef struct {
  Grid grid;
  int levels;
  Level level[most_levels];
  double* faces[4]; /* to below, to above, from below, from above */
  double compute_s, halo_s, sum_s;
} Box;

static size_t at(const Level* v, int x, int y, int z) {
  return (size_t)(z + 1) * v->plane + (size_t)(y + 1) * v->row + (size_t)(x + 1);
}

static void add_charges(Box* b) {
  const Grid* g = &b->grid;
  for (uint64_t k = 0; k < charges; ++k) {
    int place[3];
    for (uint64_t d = 0; d < 3; ++d) place[d] = (int)(scramble(3 * k + d) % (uint64_t)g->all[d]) - g->first[d];
    const int here = place[0] >= 0 && place[0] < g->count[0] && place[1] >= 0 && place[1] < g->count[1] &&
                     place[2] >= 0 && place[2] < g->count[2];
    if (here) b->level[0].charge[at(&b->level[0], place[0], place[1], place[2])] += k % 2 ? 1 : -1;
  }
}

static int set_up(Box* b, const Options* o) {
  static const int open[3] = {1, 1, 1}, least[3] = {2, 2, 2};
  Grid* g = &b->grid;
  b->levels = o->extra;
  if (!grid_set_up(g, o, open, least) || b->levels > most_levels) return 0;
  for (int d = 0; d < 3; ++d) {
    const int parts = g->dims[d] << (b->levels - 1);
    if (g->all[d] % parts != 0 || g->all[d] / parts < 2) return 0;
  }
  for (int k = 0; k < b->levels; ++k) {
    Level* v = &b->level[k];
    for (int d = 0; d < 3; ++d) v->count[d] = g->count[d] >> k;
    v->row = (size_t)v->count[0] + 2, v->plane = v->row * ((size_t)v->count[1] + 2);
    v->values = v->plane * ((size_t)v->count[2] + 2), v->square = (double)(1 << 2 * k);
    v->potential = grid_values(v->values), v->other = grid_values(v->values), v->charge = grid_values(v->values);
  }
  for (int i = 0; i < 4; ++i) b->faces[i] = grid_values(b->level[0].values);
  add_charges(b);
  return 1;
}

static void release(Box* b) {
  for (int k = 0; k < b->levels; ++k) free(b->level[k].potential), free(b->level[k].other), free(b->level[k].charge);
  for (int i = 0; i < 4; ++i) free(b->faces[i]);
  MPI_Comm_free(&b->grid.comm);
}

/* Copies the layer at `place` of direction d, ghosts included, to or from a buffer; returns how many values it has. */
static int copy_layer(const Level* v, double* values, int d, int place, double* face, int out) {
  const int a = d == 0 ? 1 : 0, c = d == 2 ? 1 : 2;
  const size_t strides[3] = {1, v->row, v->plane};
  int count = 0;
  for (int j = 0; j < v->count[c] + 2; ++j) {
    double* line = values + (size_t)(place + 1) * strides[d] + (size_t)j * strides[c];
    for (int i = 0; i < v->count[a] + 2; ++i, line += strides[a], ++count) {
      if (out) face[count] = *line;
      else *line = face[count];
    }
  }
  return count;
}

/* Fills the ghosts, one direction after the other, so that edges and corners travel with the later ones. */
static void halo(Box* b, const Level* v, double* values) {
  const Grid* g = &b->grid;
  const double begin = MPI_Wtime();
  for (int d = 0; d < 3; ++d) {
    MPI_Request requests[4];
    const int last = v->count[d] - 1;
    const int count = copy_layer(v, values, d, 0, b->faces[0], 1);
    copy_layer(v, values, d, last, b->faces[1], 1);
    MPI_Irecv(b->faces[2], count, MPI_DOUBLE, g->below[d], 2 * d + 1, g->comm, &requests[0]);
    MPI_Irecv(b->faces[3], count, MPI_DOUBLE, g->above[d], 2 * d, g->comm, &requests[1]);
    MPI_Isend(b->faces[0], count, MPI_DOUBLE, g->below[d], 2 * d, g->comm, &requests[2]);
    MPI_Isend(b->faces[1], count, MPI_DOUBLE, g->above[d], 2 * d + 1, g->comm, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    copy_layer(v, values, d, -1, b->faces[2], 0);
    copy_layer(v, values, d, last + 1, b->faces[3], 0);
  }
  b->halo_s += MPI_Wtime() - begin;
}

/* Returns what the six neighbours add up to. */
static inline double around(const Level* v, const double* u, size_t i) {
  return u[i - 1] + u[i + 1] + u[i - v->row] + u[i + v->row] + u[i - v->plane] + u[i + v->plane];
}

/* Damped Jacobi steps. */
static void smooth(Box* b, Level* v, int count) {
  const double part = 6.0 / 7.0;
  for (int k = 0; k < count; ++k) {
    halo(b, v, v->potential);
    const double begin = MPI_Wtime();
    for (int z = 0; z < v->count[2]; ++z) {
      for (int y = 0; y < v->count[1]; ++y) {
        const size_t first = at(v, 0, y, z), end = first + (size_t)v->count[0];
        const double* u = v->potential;
        for (size_t i = first; i < end; ++i)
          v->other[i] = u[i] + part / 6 * (v->square * v->charge[i] - 6 * u[i] + around(v, u, i));
      }
    }
    double* last = v->potential;
    v->potential = v->other, v->other = last;
    b->compute_s += MPI_Wtime() - begin;
  }
}

/* Computes other = charge - A potential. */
static void find_residual(Box* b, Level* v) {
  halo(b, v, v->potential);
  const double begin = MPI_Wtime();
  for (int z = 0; z < v->count[2]; ++z) {
    for (int y = 0; y < v->count[1]; ++y) {
      const size_t first = at(v, 0, y, z), end = first + (size_t)v->count[0];
      const double* u = v->potential;
      for (size_t i = first; i < end; ++i) v->other[i] = v->charge[i] - (6 * u[i] - around(v, u, i)) / v->square;
    }
  }
  b->compute_s += MPI_Wtime() - begin;
}

/* The coarser level's charge is the mean of eight residuals; its potential begins at zero. */
static void go_down(Box* b, const Level* fine, Level* coarse) {
  const double begin = MPI_Wtime();
  memset(coarse->potential, 0, sizeof(double) * coarse->values);
  for (int z = 0; z < coarse->count[2]; ++z) {
    for (int y = 0; y < coarse->count[1]; ++y) {
      for (int x = 0; x < coarse->count[0]; ++x) {
        double sum = 0;
        for (int k = 0; k < 8; ++k)
          sum += fine->other[at(fine, 2 * x + (k & 1), 2 * y + (k >> 1 & 1), 2 * z + (k >> 2))];
        coarse->charge[at(coarse, x, y, z)] = sum / 8;
      }
    }
  }
  b->compute_s += MPI_Wtime() - begin;
}

/* Adds the coarser level's potential, interpolated between its points in all three directions. */
static void go_up(Box* b, Level* fine, Level* coarse) {
  halo(b, coarse, coarse->potential);
  const double begin = MPI_Wtime();
  for (int z = 0; z < fine->count[2]; ++z) {
    for (int y = 0; y < fine->count[1]; ++y) {
      for (int x = 0; x < fine->count[0]; ++x) {
        const int own[3] = {x / 2, y / 2, z / 2};
        const int next[3] = {own[0] + (x % 2 ? 1 : -1), own[1] + (y % 2 ? 1 : -1), own[2] + (z % 2 ? 1 : -1)};
        double sum = 0;
        for (int k = 0; k < 8; ++k) {
          const int cx = k & 1 ? next[0] : own[0], cy = k & 2 ? next[1] : own[1], cz = k & 4 ? next[2] : own[2];
          const double weight = (k & 1 ? 0.25 : 0.75) * (k & 2 ? 0.25 : 0.75) * (k & 4 ? 0.25 : 0.75);
          sum += weight * coarse->potential[at(coarse, cx, cy, cz)];
        }
        fine->potential[at(fine, x, y, z)] += sum;
      }
    }
  }
  b->compute_s += MPI_Wtime() - begin;
}

static void cycle(Box* b, int k) {
  Level* v = &b->level[k];
  if (k + 1 == b->levels) return smooth(b, v, last_sweeps);
  smooth(b, v, sweeps);
  find_residual(b, v);
  go_down(b, v, &b->level[k + 1]);
  cycle(b, k + 1);
  go_up(b, v, &b->level[k + 1]);
  smooth(b, v, sweeps);
}

/* Returns the sum of the values, or of their squares, over the finest level of all ranks. */
static double sum_of(Box* b, const double* values, int squared) {
  const Level* v = &b->level[0];
  double own = 0;
  for (int z = 0; z < v->count[2]; ++z) {
    for (int y = 0; y < v->count[1]; ++y) {
      for (int x = 0; x < v->count[0]; ++x) {
        const double value = values[at(v, x, y, z)];
        own += squared ? value * value : value;
      }
    }
  }
  const double begin = MPI_Wtime(), sum = grid_ordered_sum(&b->grid, own);
  b->sum_s += MPI_Wtime() - begin;
  return sum;
}

/* A cycle, and the norm of the residual after it. */
static double step(Box* b) {
  cycle(b, 0);
  find_residual(b, &b->level[0]);
  return sqrt(sum_of(b, b->level[0].other, 1));
}

static uint64_t state_hash(const Box* b) {
  const Grid* g = &b->grid;
  const Level* v = &b->level[0];
  uint64_t own = 0;
  for (int z = 0; z < g->count[2]; ++z) {
    for (int y = 0; y < g->count[1]; ++y) {
      for (int x = 0; x < g->count[0]; ++x) own += grid_hash_of(grid_place(g, x, y, z), v->potential[at(v, x, y, z)]);
    }
  }
  return grid_sum_of_hashes(g, own);
}

static void report(const Box* b, const Options* o, double residual) {
  const Grid* g = &b->grid;
  const double own[3] = {b->compute_s, b->halo_s, b->sum_s};
  double sum[3];
  MPI_Reduce(own, sum, 3, MPI_DOUBLE, MPI_SUM, 0, g->comm);
  if (g->rank != 0) return;
  const int* n = g->count;
  printf("multigrid: %d cycles of %d levels, %d x %d x %d points on %d ranks (%d x %d x %d), residual %.2e\n", o->steps,
         b->levels, g->all[0], g->all[1], g->all[2], g->size, g->dims[0], g->dims[1], g->dims[2], residual);
  printf("phases (mean over ranks): compute %.4f s, halo %.4f s, sums %.4f s\n", sum[0] / g->size, sum[1] / g->size,
         sum[2] / g->size);
  printf("messages of the finest level, to each neighbour: %zu B, %zu B, %zu B\n",
         sizeof(double) * (size_t)((n[1] + 2) * (n[2] + 2)), sizeof(double) * (size_t)((n[0] + 2) * (n[2] + 2)),
         sizeof(double) * (size_t)((n[0] + 2) * (n[1] + 2)));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static Box b;
  Options o = {.local = {32, 32, 32}, .steps = 10, .warm_up = 1, .extra = 4, .extra_name = "--levels"};
  if (!grid_read_options(argc, argv, &o) || !set_up(&b, &o)) {
    return grid_usage(
        "multigrid [--local N or NxNxN | --grid NXxNYxNZ] [--steps N] [--warm-up N] [--levels N]\n"
        "each rank needs at least 2 points in each direction on the last level, and each level half of those above");
  }
  double residual = sqrt(sum_of(&b, b.level[0].charge, 1));
  for (int i = 0; i < o.warm_up; ++i) residual = step(&b);
  b.compute_s = b.halo_s = b.sum_s = 0;
  int falls = 1;
  MPI_Barrier(b.grid.comm);
  double time_s = MPI_Wtime();
  for (int i = 0; i < o.steps; ++i) {
    const double last = residual;
    residual = step(&b);
    falls = falls && (residual <= 0.7 * last || residual <= 1e-12);
  }
  time_s = MPI_Wtime() - time_s;
  const double points = (double)b.grid.all[0] * b.grid.all[1] * b.grid.all[2];
  const int right = falls && fabs(sum_of(&b, b.level[0].potential, 0)) <= 1e-9 * points;
  report(&b, &o, residual);
  grid_report(&b.grid, "cycle", o.steps, time_s, state_hash(&b), right);
  release(&b);
  MPI_Finalize();
  return right ? 0 : 1;
}
