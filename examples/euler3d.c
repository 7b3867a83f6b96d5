// SPDX-License-Identifier: Apache-2.0
/* Compressible gas in three dimensions: a strong blast wave runs into still gas of varying density. Plain MPI; it
 * knows nothing of Antiphon.
 *
 * Directional sweeps of a simplified piecewise-parabolic method (Colella & Woodward 1984): parabolas with limited
 * slopes, flattened in shocks, averaged over what can reach the face within the step, and an HLLC flux. A sweep needs
 * four layers of the neighbours' cells on both sides, so each step sends six messages of 5 variables x 4 layers (Isend,
 * Irecv, Waitall). The program checks that mass and energy are conserved, and that density and pressure stay positive.
 *
 *   mpirun -n 16 ./euler3d [--local N | --grid NXxNYxNZ] [--steps N] [--warm-up N]
 */
#include <math.h>

#include "grid.h"

enum { variables = 5, ghosts = 4, width = 8 }; /* width: lines that are handled side by side */
enum { density, along, across, upward, pressure };

/* The compiler also makes an AVX2 version if it can; that has no fused multiply-add, so results are the same. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define FAST __attribute__((target_clones("avx2", "default")))
#else
#define FAST
#endif

static const double gas_gamma = 1.4;

typedef double Row[width];

/* One bundle of lines: cells −ghosts … n + ghosts − 1. */
typedef struct {
  Row *q[variables], *slope, *face, *low[variables], *high[variables], *flux[variables], *flat, *raw_flat;
} Lines;

typedef struct {
  Grid grid;
  size_t stride[3], cells;
  double* state[variables]; /* conserved: density, three momenta, energy; without ghosts */
  double* from[2];          /* the neighbours' layers: [variable][layer][cells across] */
  double* to[2];
  Lines lines;
  double dx, compute_s, exchange_s;
} Gas;

static Row* rows(int n) { return allocate(sizeof(Row) * (size_t)n); }

/* Is 1 in the middle and 0 from a distance of 1 on. */
static double bump(double x, double y, double z) {
  const double r2 = x * x + y * y + z * z;
  return r2 < 1 ? (1 - r2) * (1 - r2) : 0;
}

/* Fills the grid with uniform gas at rest, a smooth clump of higher density, and a ball of high pressure, from which
 * the blast comes. */
static void fill(Gas* s) {
  const Grid* g = &s->grid;
  const double longest = g->all[0] > g->all[1] ? (g->all[0] > g->all[2] ? g->all[0] : g->all[2])
                                               : (g->all[1] > g->all[2] ? g->all[1] : g->all[2]);
  size_t i = 0;
  for (int z = 0; z < g->count[2]; ++z) {
    for (int y = 0; y < g->count[1]; ++y) {
      for (int x = 0; x < g->count[0]; ++x, ++i) {
        const double px = (g->first[0] + x + 0.5) / g->all[0], py = (g->first[1] + y + 0.5) / g->all[1],
                     pz = (g->first[2] + z + 0.5) / g->all[2];
        const double bx = (px - 0.3) * g->all[0], by = (py - 0.4) * g->all[1], bz = (pz - 0.45) * g->all[2];
        const int inside = bx * bx + by * by + bz * bz < 0.0036 * longest * longest;
        s->state[density][i] = 1 + 2 * bump((px - 0.65) * 4, (py - 0.6) * 3, (pz - 0.5) * 3);
        s->state[pressure][i] = (inside ? 50.0 : 1.0) / (gas_gamma - 1);
      }
    }
  }
}

static int set_up(Gas* s, const Options* o) {
  static const int periodic[3] = {1, 1, 1}, least[3] = {ghosts, ghosts, ghosts};
  if (!grid_set_up(&s->grid, o, periodic, least)) return 0;
  const int* n = s->grid.count;
  s->cells = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
  s->stride[0] = 1, s->stride[1] = (size_t)n[0], s->stride[2] = (size_t)n[0] * (size_t)n[1];
  int longest = 0;
  size_t widest = 0;
  for (int d = 0; d < 3; ++d) {
    if (n[d] > longest) longest = n[d];
    if (s->cells / (size_t)n[d] > widest) widest = s->cells / (size_t)n[d];
  }
  for (int side = 0; side < 2; ++side)
    s->from[side] = grid_values(variables * ghosts * widest), s->to[side] = grid_values(variables * ghosts * widest);
  const int length = longest + 2 * ghosts;
  Lines* l = &s->lines;
  for (int v = 0; v < variables; ++v) {
    s->state[v] = grid_values(s->cells);
    l->q[v] = rows(length), l->low[v] = rows(length), l->high[v] = rows(length), l->flux[v] = rows(length);
  }
  l->slope = rows(length), l->face = rows(length), l->flat = rows(length), l->raw_flat = rows(length);
  s->dx = 1.0 / s->grid.all[0];
  fill(s);
  return 1;
}

static void release(Gas* s) {
  Lines* l = &s->lines;
  for (int v = 0; v < variables; ++v)
    free(s->state[v]), free(l->q[v]), free(l->low[v]), free(l->high[v]), free(l->flux[v]);
  free(l->slope), free(l->face), free(l->flat), free(l->raw_flat);
  for (int side = 0; side < 2; ++side) free(s->from[side]), free(s->to[side]);
  MPI_Comm_free(&s->grid.comm);
}

/* The first cell of the line with this number, for lines along direction d. */
static size_t line_start(const Gas* s, int d, size_t line) {
  const int* n = s->grid.count;
  if (d == 0) return line * (size_t)n[0];
  if (d == 1) return line % (size_t)n[0] + line / (size_t)n[0] * s->stride[2];
  return line;
}

static void pack(const Gas* s, int d, int side) {
  const size_t lines = s->cells / (size_t)s->grid.count[d];
  const int first = side == 0 ? 0 : s->grid.count[d] - ghosts;
  double* out = s->to[side];
  for (int v = 0; v < variables; ++v) {
    for (int layer = 0; layer < ghosts; ++layer) {
      for (size_t line = 0; line < lines; ++line)
        *out++ = s->state[v][line_start(s, d, line) + (size_t)(first + layer) * s->stride[d]];
    }
  }
}

static void exchange(Gas* s, int d) {
  const double begin = MPI_Wtime();
  const Grid* g = &s->grid;
  const int count = (int)(variables * ghosts * (s->cells / (size_t)g->count[d]));
  MPI_Request requests[4];
  /* data that travel downwards come from above: the tag is the direction of travel */
  MPI_Irecv(s->from[0], count, MPI_DOUBLE, g->below[d], 2 * d + 1, g->comm, &requests[0]);
  MPI_Irecv(s->from[1], count, MPI_DOUBLE, g->above[d], 2 * d, g->comm, &requests[1]);
  for (int side = 0; side < 2; ++side) {
    pack(s, d, side);
    MPI_Isend(s->to[side], count, MPI_DOUBLE, side == 0 ? g->below[d] : g->above[d], 2 * d + side, g->comm,
              &requests[2 + side]);
  }
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  s->exchange_s += MPI_Wtime() - begin;
}

static void to_primitive(double* rho, double* mx, double* my, double* mz, double* e) {
  const double r = *rho, u = *mx / r, v = *my / r, w = *mz / r;
  *mx = u, *my = v, *mz = w;
  *e = (gas_gamma - 1) * (*e - 0.5 * r * (u * u + v * v + w * w));
}

/* Loads cells of a bundle as primitive variables, with ghosts. `axes` says which momentum is along the line, across it
 * and upward. */
FAST static void load(const Gas* s, int d, size_t first, const int axes[3], int n) {
  const size_t lines = s->cells / (size_t)n;
  const int source[variables] = {density, 1 + axes[0], 1 + axes[1], 1 + axes[2], pressure};
  for (int w = 0; w < width; ++w) {
    const size_t line = first + (size_t)w < lines ? first + (size_t)w : lines - 1, start = line_start(s, d, line);
    for (int v = 0; v < variables; ++v) {
      const double *own = s->state[source[v]] + start, *below = s->from[0], *above = s->from[1];
      Row* q = s->lines.q[v];
      for (int i = 0; i < ghosts; ++i) {
        const size_t place = (size_t)(source[v] * ghosts + i) * lines + line;
        q[i][w] = below[place], q[n + ghosts + i][w] = above[place];
      }
      for (int i = 0; i < n; ++i) q[ghosts + i][w] = own[(size_t)i * s->stride[d]];
    }
  }
  Row* const* q = s->lines.q;
  for (int i = 0; i < n + 2 * ghosts; ++i) {
    for (int w = 0; w < width; ++w) to_primitive(&q[0][i][w], &q[1][i][w], &q[2][i][w], &q[3][i][w], &q[4][i][w]);
  }
}

static inline double least(double a, double b) { return a < b ? a : b; }
static inline double most(double a, double b) { return a > b ? a : b; }

/* Is 1 in smooth flow and 0 within a shock (a steep rise of pressure where the gas is compressed). */
FAST static void find_shocks(Lines* l, int length) {
  Row *p = l->q[pressure], *u = l->q[along];
  for (int i = 2; i < length - 2; ++i) {
    for (int w = 0; w < width; ++w) {
      const double near = p[i + 1][w] - p[i - 1][w], far = p[i + 2][w] - p[i - 2][w];
      const double steep = fabs(near) / most(fabs(far), 1e-10 * p[i][w]);
      const int shock = fabs(near) > 0.33 * least(p[i + 1][w], p[i - 1][w]) && u[i - 1][w] > u[i + 1][w];
      l->raw_flat[i][w] = shock ? 1 - most(0, least(1, 10 * (steep - 0.75))) : 1;
    }
  }
  for (int i = 3; i < length - 3; ++i) {
    for (int w = 0; w < width; ++w)
      l->flat[i][w] = least(l->raw_flat[i][w], least(l->raw_flat[i - 1][w], l->raw_flat[i + 1][w]));
  }
}

/* Computes the values at each cell's two faces: a parabola that makes no new extrema. */
FAST static void reconstruct(Lines* l, const Row* q, Row* low, Row* high, int length) {
  for (int i = 1; i < length - 1; ++i) {
    for (int w = 0; w < width; ++w) {
      const double back = q[i][w] - q[i - 1][w], ahead = q[i + 1][w] - q[i][w], middle = 0.5 * (back + ahead);
      const double size = least(fabs(middle), 2 * least(fabs(back), fabs(ahead)));
      l->slope[i][w] = back * ahead > 0 ? (middle > 0 ? size : -size) : 0;
    }
  }
  for (int i = 1; i < length - 2; ++i) {
    for (int w = 0; w < width; ++w)
      l->face[i][w] = 0.5 * (q[i][w] + q[i + 1][w]) - (l->slope[i + 1][w] - l->slope[i][w]) / 6;
  }
  for (int i = 3; i < length - 3; ++i) {
    for (int w = 0; w < width; ++w) {
      const double c = q[i][w], f = l->flat[i][w];
      double a = f * l->face[i - 1][w] + (1 - f) * c, b = f * l->face[i][w] + (1 - f) * c;
      const int extremum = (b - c) * (c - a) <= 0;
      a = extremum ? c : a, b = extremum ? c : b;
      const double rise = b - a, bend = rise * (c - 0.5 * (a + b)), limit = rise * rise / 6;
      const double a_limited = 3 * c - 2 * b, b_limited = 3 * c - 2 * a;
      low[i][w] = bend > limit ? a_limited : a;
      high[i][w] = -bend > limit ? b_limited : b;
    }
  }
}

/* Averages the parabola over the part of the cell from which the fastest wave reaches the face within the step. */
FAST static void trace(Lines* l, double ratio, int length) {
  Row *const *q = l->q, *left_share = l->slope, *right_share = l->face;
  for (int i = 3; i < length - 3; ++i) {
    for (int w = 0; w < width; ++w) {
      const double c = sqrt(gas_gamma * q[pressure][i][w] / q[density][i][w]);
      right_share[i][w] = ratio * most(0, q[along][i][w] + c);
      left_share[i][w] = ratio * most(0, c - q[along][i][w]);
    }
  }
  for (int v = 0; v < variables; ++v) {
    for (int i = 3; i < length - 3; ++i) {
      for (int w = 0; w < width; ++w) {
        const double a = l->low[v][i][w], b = l->high[v][i][w], rise = b - a, bend = 6 * (q[v][i][w] - 0.5 * (a + b));
        const double r = right_share[i][w], s = left_share[i][w];
        l->high[v][i][w] = b - 0.5 * r * (rise - (1 - 2.0 / 3 * r) * bend);
        l->low[v][i][w] = a + 0.5 * s * (rise + (1 - 2.0 / 3 * s) * bend);
      }
    }
  }
}

/* HLLC (Toro): the flux between a cell's upper face and the next one's lower face, at face i + 1/2. */
FAST static void riemann(Lines* l, int length) {
  Row *const *lo = l->high, *const *hi = l->low;
  for (int i = ghosts - 1; i < length - ghosts; ++i) {
    for (int w = 0; w < width; ++w) {
      const double rl = lo[0][i][w], ul = lo[1][i][w], vl = lo[2][i][w], wl = lo[3][i][w], pl = lo[4][i][w];
      const double rr = hi[0][i + 1][w], ur = hi[1][i + 1][w], vr = hi[2][i + 1][w], wr = hi[3][i + 1][w],
                   pr = hi[4][i + 1][w];
      const double cl = sqrt(gas_gamma * pl / rl), cr = sqrt(gas_gamma * pr / rr);
      const double sl = least(ul - cl, ur - cr), sr = most(ul + cl, ur + cr);
      const double ml = rl * (sl - ul), mr = rr * (sr - ur), sm = (pr - pl + ml * ul - mr * ur) / (ml - mr);
      const int left = sm >= 0;
      const double r = left ? rl : rr, u = left ? ul : ur, v = left ? vl : vr, t = left ? wl : wr, p = left ? pl : pr;
      const double side = left ? sl : sr, m = left ? ml : mr;
      const double energy = p / (gas_gamma - 1) + 0.5 * r * (u * u + v * v + t * t);
      const double star = m / (side - sm), added = (energy / r + (sm - u) * (sm + p / m)) * star;
      const double wave =
          left ? (side < 0 ? side : 0) : (side > 0 ? side : 0); /* 0: the gas flows faster than all waves */
      l->flux[0][i][w] = r * u + wave * (star - r);
      l->flux[1][i][w] = r * u * u + p + wave * (star * sm - r * u);
      l->flux[2][i][w] = r * u * v + wave * (star * v - r * v);
      l->flux[3][i][w] = r * u * t + wave * (star * t - r * t);
      l->flux[4][i][w] = u * (energy + p) + wave * (added - energy);
    }
  }
}

static void store(Gas* s, int d, size_t first, const int axes[3], double ratio, int n) {
  const size_t lines = s->cells / (size_t)n;
  const int target[variables] = {density, 1 + axes[0], 1 + axes[1], 1 + axes[2], pressure};
  for (int w = 0; w < width && first + (size_t)w < lines; ++w) {
    const size_t start = line_start(s, d, first + (size_t)w);
    for (int v = 0; v < variables; ++v) {
      const Row* f = s->lines.flux[v];
      double* own = s->state[target[v]] + start;
      for (int i = 0; i < n; ++i) own[(size_t)i * s->stride[d]] -= ratio * (f[ghosts + i][w] - f[ghosts + i - 1][w]);
    }
  }
}

static void sweep(Gas* s, int d, double dt) {
  exchange(s, d);
  const double begin = MPI_Wtime();
  const int n = s->grid.count[d], length = n + 2 * ghosts, axes[3] = {d, (d + 1) % 3, (d + 2) % 3};
  const double ratio = dt / s->dx;
  for (size_t first = 0; first < s->cells / (size_t)n; first += width) {
    load(s, d, first, axes, n);
    find_shocks(&s->lines, length);
    for (int v = 0; v < variables; ++v)
      reconstruct(&s->lines, s->lines.q[v], s->lines.low[v], s->lines.high[v], length);
    trace(&s->lines, ratio, length);
    riemann(&s->lines, length);
    store(s, d, first, axes, ratio, n);
  }
  s->compute_s += MPI_Wtime() - begin;
}

FAST static double fastest_wave(const Gas* s) {
  double fastest = 0;
  for (size_t i = 0; i < s->cells; ++i) {
    const double r = s->state[0][i], u = s->state[1][i] / r, v = s->state[2][i] / r, w = s->state[3][i] / r;
    const double p = (gas_gamma - 1) * (s->state[4][i] - 0.5 * r * (u * u + v * v + w * w));
    fastest = most(fastest, sqrt(gas_gamma * p / r) + most(fabs(u), most(fabs(v), fabs(w))));
  }
  return fastest;
}

static void step(Gas* s, int number) {
  double begin = MPI_Wtime(), fastest = fastest_wave(s);
  s->compute_s += MPI_Wtime() - begin;
  begin = MPI_Wtime();
  MPI_Allreduce(MPI_IN_PLACE, &fastest, 1, MPI_DOUBLE, MPI_MAX, s->grid.comm);
  s->exchange_s += MPI_Wtime() - begin;
  const double dt = 0.4 * s->dx / fastest;
  for (int d = 0; d < 3; ++d) sweep(s, number % 2 == 0 ? d : 2 - d, dt);
}

static void totals(const Gas* s, double sums[2]) {
  for (int k = 0; k < 2; ++k) {
    double own = 0;
    for (size_t i = 0; i < s->cells; ++i) own += s->state[k == 0 ? density : pressure][i];
    sums[k] = grid_ordered_sum(&s->grid, own);
  }
}

static int check(const Gas* s, const double before[2]) {
  double after[2];
  totals(s, after);
  int wrong = 0, any;
  for (int k = 0; k < 2; ++k) wrong = wrong || !(fabs(after[k] - before[k]) <= 1e-11 * before[k]);
  for (size_t i = 0; i < s->cells; ++i) {
    const double r = s->state[0][i], u = s->state[1][i], v = s->state[2][i], w = s->state[3][i];
    wrong = wrong || !(r > 0 && s->state[4][i] - 0.5 * (u * u + v * v + w * w) / r > 0);
  }
  MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, s->grid.comm);
  return !any;
}

static uint64_t state_hash(const Gas* s) {
  uint64_t own = 0;
  const Grid* g = &s->grid;
  for (size_t i = 0; i < s->cells; ++i) {
    const int x = (int)(i % s->stride[1]), y = (int)(i / s->stride[1] % (size_t)g->count[1]),
              z = (int)(i / s->stride[2]);
    for (int v = 0; v < variables; ++v)
      own += grid_hash_of(grid_place(g, x, y, z) * variables + (uint64_t)v, s->state[v][i]);
  }
  return grid_sum_of_hashes(g, own);
}

static void report(const Gas* s, const Options* o, double time_s, uint64_t hash, int right) {
  double own[2] = {s->compute_s, s->exchange_s}, sum[2];
  const Grid* g = &s->grid;
  MPI_Reduce(own, sum, 2, MPI_DOUBLE, MPI_SUM, 0, g->comm);
  if (g->rank == 0) {
    printf("euler3d: %d steps of %d x %d x %d cells on %d ranks (%d x %d x %d)\n", o->steps, g->all[0], g->all[1],
           g->all[2], g->size, g->dims[0], g->dims[1], g->dims[2]);
    printf("phases (mean over ranks): compute %.4f s, exchange %.4f s\n", sum[0] / g->size, sum[1] / g->size);
    printf("messages of rank 0: in each step 2 of %zu B, 2 of %zu B, 2 of %zu B\n",
           8 * variables * ghosts * s->cells / (size_t)g->count[0],
           8 * variables * ghosts * s->cells / (size_t)g->count[1],
           8 * variables * ghosts * s->cells / (size_t)g->count[2]);
  }
  grid_report(g, "step", o->steps, time_s, hash, right);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static Gas s;
  Options o = {.local = {24, 24, 24}, .steps = 30, .warm_up = 5};
  if (!grid_read_options(argc, argv, &o) || !set_up(&s, &o)) {
    return grid_usage(
        "euler3d [--local N | --grid NXxNYxNZ] [--steps N] [--warm-up N]; a rank needs at least 4 cells each way");
  }
  double before[2];
  totals(&s, before);
  for (int i = 0; i < o.warm_up; ++i) step(&s, i);
  s.compute_s = s.exchange_s = 0;
  MPI_Barrier(s.grid.comm);
  double time_s = MPI_Wtime();
  for (int i = 0; i < o.steps; ++i) step(&s, o.warm_up + i);
  time_s = MPI_Wtime() - time_s;
  const int right = check(&s, before);
  report(&s, &o, time_s, state_hash(&s), right);
  release(&s);
  MPI_Finalize();
  return right ? 0 : 1;
}
