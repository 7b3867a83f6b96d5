// SPDX-License-Identifier: Apache-2.0
/* Particle transport in three dimensions by discrete ordinates: a wavefront sweep. Plain MPI; it knows nothing of
 * Antiphon.
 *
 * Columns of cells are divided in x and y. For each of the eight octants of directions a wave runs from one corner of
 * the ranks to the opposite one, in blocks of layers: a rank receives what flows in through its two upstream faces
 * (Recv), computes the block, and sends what flows out (Send). Source iteration: particles scatter, and the flux found
 * is the next step's source. The program checks that what the source emits is absorbed or leaves through the boundary.
 *
 *   mpirun -n 16 ./sweep3d [--local N or NxNxN | --grid NXxNYxNZ] [--steps N] [--warm-up N] [--layers N]
 */
#include <math.h>

#include "grid.h"

enum { angles = 6 };

/* The quadrature S6: directions of one octant and their weights (sum 1). */
static const double cosines[3] = {0.2666355, 0.6815076, 0.9261808};
static const int direction_of[angles][3] = {{0, 0, 2}, {0, 2, 0}, {2, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}};
static const double weights[2] = {0.1761262, 0.15720713333333333};

typedef struct {
  Grid grid;  /* ranks only in x and y */
  int layers; /* of a block */
  size_t cells;
  double *flux, *old_flux; /* [z][y][x] */
  double *total, *scatter, *source;
  double *in_x, *in_y, *in_z;
  double step_x[angles], step_y[angles], step_z[angles], weight[angles];
  double leaked, volume, compute_s, message_s;
} Transport;

/* A source in the middle of a scattering medium, and a dense absorbing block beside it. */
static void fill(Transport* t) {
  const Grid* g = &t->grid;
  size_t i = 0;
  for (int z = 0; z < g->count[2]; ++z) {
    for (int y = 0; y < g->count[1]; ++y) {
      for (int x = 0; x < g->count[0]; ++x, ++i) {
        const double px = (g->first[0] + x + 0.5) / g->all[0], py = (g->first[1] + y + 0.5) / g->all[1],
                     pz = (g->first[2] + z + 0.5) / g->all[2];
        const int block = px > 0.6 && px < 0.8 && py > 0.2 && py < 0.7 && pz > 0.3;
        const double r2 = (px - 0.4) * (px - 0.4) + (py - 0.5) * (py - 0.5) + (pz - 0.5) * (pz - 0.5);
        t->total[i] = block ? 8 : 2 + sin(3 * px) * cos(2 * py);
        t->scatter[i] = block ? 0.5 : 0.5 * t->total[i];
        t->source[i] = exp(-20 * r2);
      }
    }
  }
}

static int set_up(Transport* t, const Options* o) {
  static const int closed[3] = {0, 0, 0}, least[3] = {1, 1, 1};
  Grid* g = &t->grid;
  g->dims[2] = 1;
  if (!grid_set_up(g, o, closed, least)) return 0;
  t->layers = o->extra < g->all[2] ? o->extra : g->all[2];
  const size_t nx = (size_t)g->count[0], ny = (size_t)g->count[1];
  t->cells = nx * ny * (size_t)g->count[2];
  double** const arrays[] = {&t->flux, &t->old_flux, &t->total, &t->scatter, &t->source};
  for (int i = 0; i < 5; ++i) *arrays[i] = grid_values(t->cells);
  t->in_x = grid_values(angles * ny * (size_t)t->layers);
  t->in_y = grid_values(angles * nx * (size_t)t->layers);
  t->in_z = grid_values(angles * nx * ny);
  /* a box of about 4 x 4 x 4 mean free paths */
  const double size[3] = {4.0 / g->all[0], 4.0 / g->all[1], 4.0 / g->all[2]};
  t->volume = size[0] * size[1] * size[2];
  for (int m = 0; m < angles; ++m) {
    t->step_x[m] = 2 * cosines[direction_of[m][0]] / size[0];
    t->step_y[m] = 2 * cosines[direction_of[m][1]] / size[1];
    t->step_z[m] = 2 * cosines[direction_of[m][2]] / size[2];
    t->weight[m] = weights[m >= 3] / 8;
  }
  fill(t);
  return 1;
}

static void release(Transport* t) {
  free(t->flux), free(t->old_flux), free(t->total), free(t->scatter), free(t->source), free(t->in_x), free(t->in_y),
      free(t->in_z);
  MPI_Comm_free(&t->grid.comm);
}

/* Computes one cell by diamond differences, which keep the balance of particles exactly. The faces' values become
 * those of the far sides. */
static inline double cell(const Transport* t, double in, double total, double* restrict x, double* restrict y,
                          double* restrict z) {
  double sum = 0;
  for (int m = 0; m < angles; ++m) {
    const double centre = (in + t->step_x[m] * x[m] + t->step_y[m] * y[m] + t->step_z[m] * z[m]) /
                          (total + t->step_x[m] + t->step_y[m] + t->step_z[m]);
    x[m] = 2 * centre - x[m];
    y[m] = 2 * centre - y[m];
    z[m] = 2 * centre - z[m];
    sum += t->weight[m] * centre;
  }
  return sum;
}

/* Computes layers first … first + count − 1, counted in the octant's direction. */
static void work(Transport* t, const int sign[3], int first, int count) {
  const Grid* g = &t->grid;
  const int nx = g->count[0], ny = g->count[1], nz = g->count[2];
  for (int l = 0; l < count; ++l) {
    const int z = sign[2] > 0 ? first + l : nz - 1 - first - l;
    for (int j = 0; j < ny; ++j) {
      const int y = sign[1] > 0 ? j : ny - 1 - j;
      double* face_x = t->in_x + (size_t)(l * ny + y) * angles;
      for (int i = 0; i < nx; ++i) {
        const int x = sign[0] > 0 ? i : nx - 1 - i;
        const size_t here = ((size_t)z * (size_t)ny + (size_t)y) * (size_t)nx + (size_t)x;
        const double in = t->source[here] + t->scatter[here] * t->old_flux[here];
        t->flux[here] += cell(t, in, t->total[here], face_x, t->in_y + (size_t)(l * nx + x) * angles,
                              t->in_z + ((size_t)y * (size_t)nx + (size_t)x) * angles);
      }
    }
  }
}

/* Adds up particles that leave the box through the faces that a block has just computed. */
static void leak(Transport* t, int d, const double* face, size_t count) {
  const double* rate = d == 0 ? t->step_x : d == 1 ? t->step_y : t->step_z;
  for (size_t i = 0; i < count; ++i) t->leaked += 0.5 * rate[i % angles] * t->weight[i % angles] * face[i] * t->volume;
}

static void receive(Transport* t, double* face, int count, int from, int tag) {
  const double begin = MPI_Wtime();
  if (from == MPI_PROC_NULL) memset(face, 0, sizeof(double) * (size_t)count);
  MPI_Recv(face, count, MPI_DOUBLE, from, tag, t->grid.comm, MPI_STATUS_IGNORE);
  t->message_s += MPI_Wtime() - begin;
}

static void send(Transport* t, const double* face, int count, int to, int tag) {
  const double begin = MPI_Wtime();
  MPI_Send(face, count, MPI_DOUBLE, to, tag, t->grid.comm);
  t->message_s += MPI_Wtime() - begin;
  if (to == MPI_PROC_NULL) leak(t, tag, face, (size_t)count);
}

static void octant(Transport* t, const int sign[3]) {
  const Grid* g = &t->grid;
  const int from_x = sign[0] > 0 ? g->below[0] : g->above[0], to_x = sign[0] > 0 ? g->above[0] : g->below[0];
  const int from_y = sign[1] > 0 ? g->below[1] : g->above[1], to_y = sign[1] > 0 ? g->above[1] : g->below[1];
  memset(t->in_z, 0, sizeof(double) * angles * (size_t)g->count[0] * (size_t)g->count[1]);
  for (int first = 0; first < g->count[2]; first += t->layers) {
    const int count = first + t->layers > g->count[2] ? g->count[2] - first : t->layers;
    const int values_x = angles * count * g->count[1], values_y = angles * count * g->count[0];
    receive(t, t->in_x, values_x, from_x, 0);
    receive(t, t->in_y, values_y, from_y, 1);
    const double begin = MPI_Wtime();
    work(t, sign, first, count);
    t->compute_s += MPI_Wtime() - begin;
    send(t, t->in_x, values_x, to_x, 0);
    send(t, t->in_y, values_y, to_y, 1);
  }
  leak(t, 2, t->in_z, angles * (size_t)g->count[0] * (size_t)g->count[1]);
}

static void step(Transport* t) {
  double* last = t->old_flux;
  t->old_flux = t->flux, t->flux = last;
  memset(t->flux, 0, sizeof(double) * t->cells);
  t->leaked = 0;
  for (int o = 0; o < 8; ++o) {
    /* the two waves from one corner follow each other, so that ranks seldom wait for a new wave */
    const int sign[3] = {o & 4 ? 1 : -1, (o & 2) != 0 ? 1 : -1, o & 1 ? 1 : -1};
    octant(t, sign);
  }
}

static int check(const Transport* t, double* gained) {
  double own[3] = {0, 0, 0}, sum[3];
  for (size_t i = 0; i < t->cells; ++i) {
    own[0] += (t->source[i] + t->scatter[i] * t->old_flux[i]) * t->volume;
    own[1] += t->total[i] * t->flux[i] * t->volume;
  }
  own[2] = t->leaked;
  for (int k = 0; k < 3; ++k) sum[k] = grid_ordered_sum(&t->grid, own[k]);
  *gained = sum[0];
  return fabs(sum[0] - sum[1] - sum[2]) <= 1e-10 * sum[0];
}

static uint64_t state_hash(const Transport* t) {
  const Grid* g = &t->grid;
  uint64_t own = 0;
  size_t i = 0;
  for (int z = 0; z < g->count[2]; ++z) {
    for (int y = 0; y < g->count[1]; ++y) {
      for (int x = 0; x < g->count[0]; ++x, ++i) own += grid_hash_of(grid_place(g, x, y, z), t->flux[i]);
    }
  }
  return grid_sum_of_hashes(g, own);
}

static void report(const Transport* t, const Options* o, double time_s, int right) {
  const Grid* g = &t->grid;
  double own[2] = {t->compute_s, t->message_s}, sum[2];
  MPI_Reduce(own, sum, 2, MPI_DOUBLE, MPI_SUM, 0, g->comm);
  const uint64_t hash = state_hash(t);
  if (g->rank == 0) {
    printf("sweep3d: %d steps of %d x %d x %d cells, %d angles, on %d ranks (%d x %d)\n", o->steps, g->all[0],
           g->all[1], g->all[2], 8 * angles, g->size, g->dims[0], g->dims[1]);
    printf("phases (mean over ranks): compute %.4f s, messages and waiting %.4f s\n", sum[0] / g->size,
           sum[1] / g->size);
    printf("messages between two ranks: %zu B in x, %zu B in y, each %d times a step one way\n",
           sizeof(double) * angles * (size_t)(t->layers * g->count[1]),
           sizeof(double) * angles * (size_t)(t->layers * g->count[0]), 4 * ((g->all[2] + t->layers - 1) / t->layers));
  }
  grid_report(g, "step", o->steps, time_s, hash, right);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static Transport t;
  Options o = {.local = {12, 12, 96}, .steps = 20, .warm_up = 3, .extra = 24, .extra_name = "--layers"};
  if (!grid_read_options(argc, argv, &o) || !set_up(&t, &o)) {
    return grid_usage("sweep3d [--local N or NxNxN | --grid NXxNYxNZ] [--steps N] [--warm-up N] [--layers N]");
  }
  for (int i = 0; i < o.warm_up; ++i) step(&t);
  t.compute_s = t.message_s = 0;
  MPI_Barrier(t.grid.comm);
  double time_s = MPI_Wtime();
  for (int i = 0; i < o.steps; ++i) step(&t);
  time_s = MPI_Wtime() - time_s;
  double gained;
  const int right = check(&t, &gained);
  report(&t, &o, time_s, right);
  release(&t);
  MPI_Finalize();
  return right ? 0 : 1;
}
