// SPDX-License-Identifier: Apache-2.0
/* Parallel 3-D Fourier transform by slabs. Plain MPI; it knows nothing of Antiphon.
 *
 * Each rank holds planes of constant z and transforms along x and y. An all-to-all then turns the slabs, so that each
 * rank holds planes of constant y and transforms along z. The inverse goes back the same way. The program checks some
 * coefficients of the transform against their definition, and that the inverse returns the input.
 *
 *   mpirun -n 16 ./fft3d [S|W|A] [rounds]      S 64x64x64, W 128x128x32, A 256x256x128; ranks must divide ny and nz
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

typedef struct {
  double re, im;
} Complex;

typedef struct {
  const char* name;
  int nx, ny, nz;
} Class;

static const Class classes[] = {{"S", 64, 64, 64}, {"W", 128, 128, 32}, {"A", 256, 256, 128}};

static const double pi = 3.14159265358979323846;

/* Roots of unity and the bit-reversed order for one length. */
typedef struct {
  int n;
  Complex* roots;
  int* order;
  Complex* line;
} LineTables;

typedef struct {
  double transform_s, pack_s, alltoall_s;
} Phases;

typedef struct {
  int rank, size, nx, ny, nz, planes, rows; /* planes = nz / size, rows = ny / size */
  size_t points;                            /* of this rank */
  LineTables x, y, z;
  Complex *slab, *turned, *buffer; /* [planes][ny][nx]; [nz][rows][nx] */
  Phases phases;
} Transform;

static LineTables make_tables(int n) {
  LineTables tables = {n, allocate(sizeof(Complex) * (size_t)n), allocate(sizeof(int) * (size_t)n),
                       allocate(sizeof(Complex) * (size_t)n)};
  for (int i = 0; i < n; ++i) {
    tables.roots[i].re = cos(2 * pi * i / n);
    tables.roots[i].im = -sin(2 * pi * i / n);
    tables.order[i] = i == 0 ? 0 : tables.order[i / 2] / 2 + (i % 2) * (n / 2);
  }
  return tables;
}

static void free_tables(LineTables* tables) {
  free(tables->roots);
  free(tables->order);
  free(tables->line);
}

/* Radix-2 transform in place of one line whose elements are `stride` apart. Sign −1 is forward, +1 inverse (not
 * scaled). */
static void transform_line(const LineTables* tables, Complex* data, size_t stride, int sign) {
  const int n = tables->n;
  Complex* a = tables->line;
  for (int i = 0; i < n; ++i) a[tables->order[i]] = data[(size_t)i * stride];
  for (int half = 1; half < n; half *= 2) {
    const int step = n / (2 * half);
    for (int start = 0; start < n; start += 2 * half) {
      for (int k = 0; k < half; ++k) {
        const Complex w = tables->roots[k * step];
        const double w_im = sign < 0 ? w.im : -w.im;
        Complex *low = &a[start + k], *high = &a[start + k + half];
        const Complex t = {high->re * w.re - high->im * w_im, high->re * w_im + high->im * w.re};
        high->re = low->re - t.re, high->im = low->im - t.im;
        low->re += t.re, low->im += t.im;
      }
    }
  }
  for (int i = 0; i < n; ++i) data[(size_t)i * stride] = a[i];
}

static void transform_planes(Transform* t, int sign) {
  const size_t nx = (size_t)t->nx;
  for (int z = 0; z < t->planes; ++z) {
    Complex* plane = t->slab + (size_t)z * nx * (size_t)t->ny;
    for (int y = 0; y < t->ny; ++y) transform_line(&t->x, plane + (size_t)y * nx, 1, sign);
    for (size_t x = 0; x < nx; ++x) transform_line(&t->y, plane + x, nx, sign);
  }
}

static void transform_columns(Transform* t, int sign) {
  const size_t lines = (size_t)t->rows * (size_t)t->nx;
  for (size_t i = 0; i < lines; ++i) transform_line(&t->z, t->turned + i, lines, sign);
}

/* Copies between [planes][ny][nx] and blocks [size][planes][rows][nx], one for each rank. */
static void pack(Transform* t, int into_blocks) {
  const size_t run = (size_t)t->rows * (size_t)t->nx;
  for (int r = 0; r < t->size; ++r) {
    for (int z = 0; z < t->planes; ++z) {
      Complex* in_block = t->buffer + ((size_t)r * (size_t)t->planes + (size_t)z) * run;
      Complex* in_slab = t->slab + ((size_t)z * (size_t)t->size + (size_t)r) * run;
      memcpy(into_blocks ? in_block : in_slab, into_blocks ? in_slab : in_block, sizeof(Complex) * run);
    }
  }
}

static void exchange(Transform* t, const Complex* from, Complex* to) {
  const int count = (int)(2 * t->points / (size_t)t->size);
  MPI_Alltoall(from, count, MPI_DOUBLE, to, count, MPI_DOUBLE, MPI_COMM_WORLD);
}

/* Transforms slab into turned. */
static void forward(Transform* t) {
  double a = MPI_Wtime(), b;
  transform_planes(t, -1);
  b = MPI_Wtime(), t->phases.transform_s += b - a, a = b;
  pack(t, 1);
  b = MPI_Wtime(), t->phases.pack_s += b - a, a = b;
  exchange(t, t->buffer, t->turned);
  b = MPI_Wtime(), t->phases.alltoall_s += b - a, a = b;
  transform_columns(t, -1);
  t->phases.transform_s += MPI_Wtime() - a;
}

/* Transforms turned into slab, scaled. */
static void inverse(Transform* t) {
  double a = MPI_Wtime(), b;
  transform_columns(t, 1);
  b = MPI_Wtime(), t->phases.transform_s += b - a, a = b;
  exchange(t, t->turned, t->buffer);
  b = MPI_Wtime(), t->phases.alltoall_s += b - a, a = b;
  pack(t, 0);
  b = MPI_Wtime(), t->phases.pack_s += b - a, a = b;
  transform_planes(t, 1);
  const double scale = 1.0 / ((double)t->nx * t->ny * t->nz);
  for (size_t i = 0; i < t->points; ++i) t->slab[i].re *= scale, t->slab[i].im *= scale;
  t->phases.transform_s += MPI_Wtime() - a;
}

/* The input at a point, computed from the point's number: between −1 and 1. */
static Complex input(uint64_t point) {
  uint64_t x = (point + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x ^= x >> 27;
  const Complex value = {(double)(x & 0xFFFFF) / 524288 - 1, (double)(x >> 20 & 0xFFFFF) / 524288 - 1};
  return value;
}

static uint64_t first_point(const Transform* t) { return (uint64_t)t->rank * t->points; }

/* Checks some coefficients by definition: a sum over all points, each rank's part of it and one Allreduce. */
static int check_forward(const Transform* t) {
  static const int waves[3][3] = {{0, 0, 0}, {1, 2, 3}, {5, 7, 11}};
  double sums[6] = {0}, all[6], found[6] = {0}, all_found[6];
  for (int w = 0; w < 3; ++w) {
    const int kx = waves[w][0] % t->nx, ky = waves[w][1] % t->ny, kz = waves[w][2] % t->nz;
    for (size_t i = 0; i < t->points; ++i) {
      const uint64_t p = first_point(t) + i;
      const int x = (int)(p % (uint64_t)t->nx), y = (int)(p / (uint64_t)t->nx % (uint64_t)t->ny),
                z = (int)(p / (uint64_t)t->nx / (uint64_t)t->ny);
      const double angle =
          -2 * pi *
          ((double)(kx * x % t->nx) / t->nx + (double)(ky * y % t->ny) / t->ny + (double)(kz * z % t->nz) / t->nz);
      const Complex v = input(p);
      sums[2 * w] += v.re * cos(angle) - v.im * sin(angle);
      sums[2 * w + 1] += v.re * sin(angle) + v.im * cos(angle);
    }
    if (ky / t->rows == t->rank) {
      const Complex c = t->turned[((size_t)kz * (size_t)t->rows + (size_t)(ky % t->rows)) * (size_t)t->nx + (size_t)kx];
      found[2 * w] = c.re, found[2 * w + 1] = c.im;
    }
  }
  MPI_Allreduce(sums, all, 6, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(found, all_found, 6, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double tolerance = 1e-9 * (double)t->points * t->size;
  int right = 1;
  for (int i = 0; i < 6; ++i) right = right && fabs(all[i] - all_found[i]) < tolerance;
  return right;
}

static int check_input(const Transform* t) {
  double worst = 0, all_worst;
  for (size_t i = 0; i < t->points; ++i) {
    const Complex v = input(first_point(t) + i);
    const double off = fmax(fabs(t->slab[i].re - v.re), fabs(t->slab[i].im - v.im));
    if (!(off <= worst)) worst = off; /* also true if `off` is not a number */
  }
  MPI_Allreduce(&worst, &all_worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all_worst < 1e-10;
}

static void set_up(Transform* t, const Class* class) {
  t->nx = class->nx, t->ny = class->ny, t->nz = class->nz;
  t->planes = t->nz / t->size, t->rows = t->ny / t->size;
  t->points = (size_t)t->nx * (size_t)t->ny * (size_t)t->planes;
  t->x = make_tables(t->nx), t->y = make_tables(t->ny), t->z = make_tables(t->nz);
  Complex** const arrays[] = {&t->slab, &t->turned, &t->buffer};
  for (int i = 0; i < 3; ++i) *arrays[i] = allocate(sizeof(Complex) * t->points);
  for (size_t i = 0; i < t->points; ++i) t->slab[i] = input(first_point(t) + i);
}

static void report(const Transform* t, const Class* class, int rounds, double time_s, int right) {
  Phases p;
  MPI_Reduce(&t->phases, &p, sizeof p / sizeof(double), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (t->rank != 0) return;
  for (double* phase = &p.transform_s; phase <= &p.alltoall_s; ++phase) *phase /= t->size;
  printf("fft3d class %s: %d times forward and back, %d x %d x %d points on %d ranks\n", class->name, rounds, t->nx,
         t->ny, t->nz, t->size);
  printf("phases (mean over ranks): transform %.4f s, pack %.4f s, alltoall %.4f s\n", p.transform_s, p.pack_s,
         p.alltoall_s);
  printf("traffic: %d x alltoall %zu B\n", 2 * rounds, sizeof(Complex) * t->points / (size_t)t->size);
  printf("time: %.6f s\n", time_s);
  printf("result: %s\n", right ? "verified" : "WRONG");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static Transform t;
  MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &t.size);
  const Class* class = &classes[0];
  for (size_t i = 0; argc > 1 && i < sizeof classes / sizeof *classes; ++i) {
    if (strcmp(argv[1], classes[i].name) == 0) class = &classes[i];
  }
  const int rounds = argc > 2 ? atoi(argv[2]) : 6;
  if ((argc > 1 && strcmp(argv[1], class->name) != 0) || rounds < 1 || class->ny % t.size || class->nz % t.size) {
    if (t.rank == 0)
      fprintf(stderr, "usage: fft3d [S|W|A] [rounds]; the number of ranks must divide %d and %d\n", class->ny,
              class->nz);
    MPI_Finalize();
    return 2;
  }
  set_up(&t, class);
  forward(&t);
  int right = check_forward(&t);
  inverse(&t);
  memset(&t.phases, 0, sizeof t.phases);
  MPI_Barrier(MPI_COMM_WORLD);
  double time_s = MPI_Wtime();
  for (int round = 0; round < rounds; ++round) {
    forward(&t);
    inverse(&t);
  }
  time_s = MPI_Wtime() - time_s;
  MPI_Allreduce(MPI_IN_PLACE, &time_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  right = check_input(&t) && right;
  report(&t, class, rounds, time_s, right);
  LineTables* const tables[] = {&t.x, &t.y, &t.z};
  for (int i = 0; i < 3; ++i) free_tables(tables[i]);
  free(t.slab), free(t.turned), free(t.buffer);
  MPI_Finalize();
  return right ? 0 : 1;
}
