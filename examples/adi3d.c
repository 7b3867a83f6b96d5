// SPDX-License-Identifier: Apache-2.0
/* Heat in a body of varying conductivity by alternating directions: an implicit step along x, then y, then z. Plain
 * MPI; it knows nothing of Antiphon.
 *
 * Along each direction every line of points is a tridiagonal system, which crosses all ranks in that direction. The
 * lines are solved in blocks: a rank receives the last row of elimination from below (Recv), eliminates its part of the
 * block, and sends its last row on (Isend) while it works on the next block; substitution runs the other way. The
 * program checks the last systems by their definition, and that heat is conserved (none passes the boundary).
 *
 *   mpirun -n 16 ./adi3d [--local N or NxNxN | --grid NXxNYxNZ] [--steps N] [--warm-up N] [--lines N]
 */
#include <math.h>

#include "grid.h"

typedef struct {
  Grid grid;
  size_t cells, strides[3];
  int lines; /* of a block */
  double *heat, *before, *ratio;
  double *lower[3], *upper[3]; /* conductivities towards both neighbours, times the time step */
  double *passed_on, *arrived; /* two values a line: the last row of elimination; or one: the next point's heat */
  MPI_Request* requests;
  double compute_s, message_s;
} Heat;

/* Where the lines along a direction begin: line l at (l % across) stride[0] + (l / across) stride[1]. */
typedef struct {
  int count, across, points;
  size_t stride[2], step;
} Lines;

static double conducts(double x, double y, double z) {
  return 1 + 0.5 * sin(5 * x + 2 * y) + 4 * exp(-30 * ((y - 0.5) * (y - 0.5) + (z - 0.4) * (z - 0.4)));
}

static void fill(Heat* h) {
  const Grid* g = &h->grid;
  const double dt = 5;
  size_t i = 0;
  for (int z = 0; z < g->count[2]; ++z) {
    for (int y = 0; y < g->count[1]; ++y) {
      for (int x = 0; x < g->count[0]; ++x, ++i) {
        const int place[3] = {g->first[0] + x, g->first[1] + y, g->first[2] + z};
        double p[3];
        for (int d = 0; d < 3; ++d) p[d] = (place[d] + 0.5) / g->all[d];
        const double r2 = (p[0] - 0.3) * (p[0] - 0.3) + (p[1] - 0.4) * (p[1] - 0.4) + (p[2] - 0.5) * (p[2] - 0.5);
        h->heat[i] = r2 < 0.04 ? 100 * (1 - 25 * r2) * (1 - 25 * r2) : 0;
        for (int d = 0; d < 3; ++d) {
          double low[3] = {p[0], p[1], p[2]}, high[3] = {p[0], p[1], p[2]};
          low[d] = (double)place[d] / g->all[d], high[d] = (place[d] + 1.0) / g->all[d];
          h->lower[d][i] = place[d] > 0 ? dt * conducts(low[0], low[1], low[2]) : 0;
          h->upper[d][i] = place[d] + 1 < g->all[d] ? dt * conducts(high[0], high[1], high[2]) : 0;
        }
      }
    }
  }
}

static Lines lines_along(const Heat* h, int d) {
  const int* n = h->grid.count;
  const int a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;
  return (Lines){n[a] * n[b], n[a], n[d], {h->strides[a], h->strides[b]}, h->strides[d]};
}

static size_t line_at(const Lines* lines, int l) {
  return (size_t)(l % lines->across) * lines->stride[0] + (size_t)(l / lines->across) * lines->stride[1];
}

static int set_up(Heat* h, const Options* o) {
  static const int closed[3] = {0, 0, 0}, least[3] = {1, 1, 1};
  Grid* g = &h->grid;
  if (!grid_set_up(g, o, closed, least)) return 0;
  const size_t n[3] = {(size_t)g->count[0], (size_t)g->count[1], (size_t)g->count[2]};
  h->cells = n[0] * n[1] * n[2], h->lines = o->extra;
  h->strides[0] = 1, h->strides[1] = n[0], h->strides[2] = n[0] * n[1];
  double** const arrays[] = {&h->heat,     &h->before,   &h->ratio,    &h->lower[0], &h->lower[1],
                             &h->lower[2], &h->upper[0], &h->upper[1], &h->upper[2]};
  for (int i = 0; i < 9; ++i) *arrays[i] = grid_values(h->cells);
  h->passed_on = grid_values(2 * h->cells), h->arrived = grid_values(2 * h->cells);
  h->requests = allocate(sizeof(MPI_Request) * h->cells);
  fill(h);
  return 1;
}

static void release(Heat* h) {
  double* const arrays[] = {h->heat,     h->before,   h->ratio,    h->lower[0],  h->lower[1], h->lower[2],
                            h->upper[0], h->upper[1], h->upper[2], h->passed_on, h->arrived};
  for (int i = 0; i < 11; ++i) free(arrays[i]);
  free(h->requests);
  MPI_Comm_free(&h->grid.comm);
}

/* Eliminates downwards in these lines; `rows` holds ratio and heat of the point before, and then of the last point. */
static void eliminate(Heat* h, int d, const Lines* lines, int first, int count, double* rows) {
  for (int l = 0; l < count; ++l) {
    size_t i = line_at(lines, first + l);
    double ratio = rows[2 * l], heat = rows[2 * l + 1];
    for (int k = 0; k < lines->points; ++k, i += lines->step) {
      const double low = h->lower[d][i], up = h->upper[d][i], pivot = 1 + low + up + low * ratio;
      h->ratio[i] = ratio = -up / pivot;
      h->heat[i] = heat = (h->heat[i] + low * heat) / pivot;
    }
    rows[2 * l] = ratio, rows[2 * l + 1] = heat;
  }
}

/* Substitutes upwards; `next` holds the heat of the point after, and then that of the first point. */
static void substitute(Heat* h, const Lines* lines, int first, int count, double* next) {
  for (int l = 0; l < count; ++l) {
    size_t i = line_at(lines, first + l) + (size_t)(lines->points - 1) * lines->step;
    double heat = next[l];
    for (int k = 0; k < lines->points; ++k, i -= lines->step) h->heat[i] = heat = h->heat[i] - h->ratio[i] * heat;
    next[l] = heat;
  }
}

/* Solves all lines one way, block by block: elimination with two values a line, substitution with one. */
static void pass(Heat* h, int d, const Lines* lines, int values, int from, int to) {
  int sent = 0;
  for (int first = 0; first < lines->count; first += h->lines) {
    const int count = first + h->lines > lines->count ? lines->count - first : h->lines;
    double* block = h->passed_on + (size_t)values * (size_t)first;
    double begin = MPI_Wtime(), now;
    memset(block, 0, sizeof(double) * (size_t)(values * count));
    MPI_Recv(block, values * count, MPI_DOUBLE, from, d, h->grid.comm, MPI_STATUS_IGNORE);
    now = MPI_Wtime(), h->message_s += now - begin, begin = now;
    if (values == 2) eliminate(h, d, lines, first, count, block);
    else substitute(h, lines, first, count, block);
    now = MPI_Wtime(), h->compute_s += now - begin, begin = now;
    MPI_Isend(block, values * count, MPI_DOUBLE, to, d, h->grid.comm, &h->requests[sent++]);
    h->message_s += MPI_Wtime() - begin;
  }
  const double begin = MPI_Wtime();
  MPI_Waitall(sent, h->requests, MPI_STATUSES_IGNORE);
  h->message_s += MPI_Wtime() - begin;
}

static void step(Heat* h) {
  const Grid* g = &h->grid;
  for (int d = 0; d < 3; ++d) {
    const Lines lines = lines_along(h, d);
    if (d == 2) memcpy(h->before, h->heat, sizeof(double) * h->cells);
    pass(h, d, &lines, 2, g->below[d], g->above[d]);
    pass(h, d, &lines, 1, g->above[d], g->below[d]);
  }
}

static double total(const Heat* h) {
  double own = 0;
  for (size_t i = 0; i < h->cells; ++i) own += h->heat[i];
  return grid_ordered_sum(&h->grid, own);
}

/* Exchanges the planes at one end along z: sends that of `edge` to a neighbour, and returns what the other one sends.
 */
static const double* far_plane(Heat* h, int edge, int to, int from) {
  const int count = (int)h->strides[2];
  const double* own = h->heat + (size_t)edge * h->strides[2];
  memset(h->arrived, 0, sizeof(double) * (size_t)count);
  MPI_Sendrecv(own, count, MPI_DOUBLE, to, 3, h->arrived, count, MPI_DOUBLE, from, 3, h->grid.comm, MPI_STATUS_IGNORE);
  return h->arrived;
}

/* Returns the square of what the last systems, those along z, leave: the heat before against the matrix times the heat
 * after. Two runs over the points, since one neighbour's plane is there at a time. */
static double left_over(Heat* h, double* scale) {
  const Grid* g = &h->grid;
  const int last = g->count[2] - 1;
  const size_t plane = h->strides[2];
  double own[2] = {0, 0};
  const double* below = far_plane(h, last, g->above[2], g->below[2]);
  for (size_t i = 0; i < h->cells; ++i) {
    const double down = i < plane ? below[i] : h->heat[i - plane];
    h->ratio[i] = h->before[i] - (1 + h->lower[2][i] + h->upper[2][i]) * h->heat[i] + h->lower[2][i] * down;
  }
  const double* above = far_plane(h, 0, g->below[2], g->above[2]);
  for (size_t i = 0; i < h->cells; ++i) {
    const double up = i + plane < h->cells ? h->heat[i + plane] : above[i + plane - h->cells];
    const double left = h->ratio[i] + h->upper[2][i] * up;
    own[0] += left * left, own[1] += h->before[i] * h->before[i];
  }
  *scale = grid_ordered_sum(g, own[1]);
  return grid_ordered_sum(g, own[0]);
}

static int check(Heat* h, double heat_before) {
  double scale;
  const double left = left_over(h, &scale);
  return left <= 1e-20 * scale && fabs(total(h) - heat_before) <= 1e-9 * heat_before;
}

static uint64_t state_hash(const Heat* h) {
  const Grid* g = &h->grid;
  uint64_t own = 0;
  size_t i = 0;
  for (int z = 0; z < g->count[2]; ++z) {
    for (int y = 0; y < g->count[1]; ++y) {
      for (int x = 0; x < g->count[0]; ++x, ++i) own += grid_hash_of(grid_place(g, x, y, z), h->heat[i]);
    }
  }
  return grid_sum_of_hashes(g, own);
}

static void report(const Heat* h, const Options* o) {
  const Grid* g = &h->grid;
  const double own[2] = {h->compute_s, h->message_s};
  double sum[2];
  MPI_Reduce(own, sum, 2, MPI_DOUBLE, MPI_SUM, 0, g->comm);
  if (g->rank != 0) return;
  printf("adi3d: %d steps of %d x %d x %d points on %d ranks (%d x %d x %d)\n", o->steps, g->all[0], g->all[1],
         g->all[2], g->size, g->dims[0], g->dims[1], g->dims[2]);
  printf("phases (mean over ranks): compute %.4f s, messages and waiting %.4f s\n", sum[0] / g->size, sum[1] / g->size);
  printf("messages between two ranks: up to %zu B one way and %zu B the other, for each block of lines\n",
         2 * sizeof(double) * (size_t)h->lines, sizeof(double) * (size_t)h->lines);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static Heat h;
  Options o = {.local = {24, 24, 24}, .steps = 20, .warm_up = 3, .extra = 128, .extra_name = "--lines"};
  if (!grid_read_options(argc, argv, &o) || !set_up(&h, &o)) {
    return grid_usage("adi3d [--local N or NxNxN | --grid NXxNYxNZ] [--steps N] [--warm-up N] [--lines N]");
  }
  const double before = total(&h);
  for (int i = 0; i < o.warm_up; ++i) step(&h);
  h.compute_s = h.message_s = 0;
  MPI_Barrier(h.grid.comm);
  double time_s = MPI_Wtime();
  for (int i = 0; i < o.steps; ++i) step(&h);
  time_s = MPI_Wtime() - time_s;
  const uint64_t hash = state_hash(&h);
  const int right = check(&h, before);
  report(&h, &o);
  grid_report(&h.grid, "step", o.steps, time_s, hash, right);
  release(&h);
  MPI_Finalize();
  return right ? 0 : 1;
}
