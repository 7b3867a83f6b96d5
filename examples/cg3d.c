// SPDX-License-Identifier: Apache-2.0
/* Heat in a body of varying conductivity, in implicit time steps. Conjugate gradients or Chebyshev's iteration solve
 * each step on a 3-D grid. Plain MPI; it knows nothing of Antiphon.
 *
 * Conjugate gradients: the preconditioner is a polynomial (some Jacobi steps). Each iteration exchanges the six faces
 * once for the search direction and once for each further term of the polynomial, and sums two dot products over all
 * ranks. Chebyshev: each iteration exchanges the six faces of the solution. Faces are sent by persistent requests on
 * derived datatypes, straight from the grid. The program checks the residual of the last system by its definition, and
 * that heat is conserved up to the solver's tolerance (no heat passes the boundary).
 *
 *   mpirun -n 16 ./cg3d [--local N | --grid NXxNYxNZ] [--steps N] [--warm-up N] [--iterations N]
 *                       [--method cg|chebyshev]
 */
#include <math.h>

#include "grid.h"

enum { terms = 4 }; /* of the preconditioner */

typedef struct {
  Grid grid;
  size_t row, plane, cells; /* strides and size with one layer of ghosts all round */
  double *heat, *guess, *residual, *direction, *smooth, *image, *diagonal;
  double* conductivity[3]; /* between a point and the next one in x, y, z, times the time step */
  MPI_Datatype face[3];
  MPI_Request requests[2][12]; /* for the faces of `direction` and of `smooth` */
  double compute_s, halo_s, sum_s, tolerance, largest_diagonal;
  int most_iterations, iterations;
} Heat;

static size_t at(const Heat* h, int x, int y, int z) {
  return (size_t)(z + 1) * h->plane + (size_t)(y + 1) * h->row + (size_t)(x + 1);
}

static double conducts(double x, double y, double z) {
  return 1 + 0.5 * sin(5 * x + 2 * y) + 4 * exp(-30 * ((y - 0.5) * (y - 0.5) + (z - 0.4) * (z - 0.4)));
}

static void fill(Heat* h) {
  const Grid* g = &h->grid;
  const double dt = 20;
  for (int z = -1; z <= g->count[2]; ++z) {
    for (int y = -1; y <= g->count[1]; ++y) {
      for (int x = -1; x <= g->count[0]; ++x) {
        const int place[3] = {g->first[0] + x, g->first[1] + y, g->first[2] + z};
        double p[3];
        for (int d = 0; d < 3; ++d) p[d] = (place[d] + 0.5) / g->all[d];
        const size_t here = at(h, x, y, z);
        const double r2 = (p[0] - 0.3) * (p[0] - 0.3) + (p[1] - 0.4) * (p[1] - 0.4) + (p[2] - 0.5) * (p[2] - 0.5);
        h->heat[here] = r2 < 0.04 ? 100 * (1 - 25 * r2) * (1 - 25 * r2) : 0;
        for (int d = 0; d < 3; ++d) {
          const double half = 0.5 / g->all[d];
          const int within = place[d] >= 0 && place[d] + 1 < g->all[d];
          h->conductivity[d][here] =
              within ? dt * conducts(p[0] + (d == 0) * half, p[1] + (d == 1) * half, p[2] + (d == 2) * half) : 0;
        }
      }
    }
  }
}

static void make_diagonal(Heat* h) {
  const Grid* g = &h->grid;
  for (int z = 0; z < g->count[2]; ++z) {
    for (int y = 0; y < g->count[1]; ++y) {
      for (int x = 0; x < g->count[0]; ++x) {
        const size_t i = at(h, x, y, z);
        h->diagonal[i] = 1 + h->conductivity[0][i] + h->conductivity[0][i - 1] + h->conductivity[1][i] +
                         h->conductivity[1][i - h->row] + h->conductivity[2][i] + h->conductivity[2][i - h->plane];
      }
    }
  }
}

/* Makes the requests for the faces of `values`, both ways in each dimension. A face omits its own edges, because the
 * stencil has seven points. */
static void make_requests(Heat* h, double* values, MPI_Request* requests, int first_tag) {
  const Grid* g = &h->grid;
  const int nx = g->count[0], ny = g->count[1], nz = g->count[2];
  const int sizes[3] = {nz + 2, ny + 2, nx + 2};
  for (int d = 0; d < 3; ++d) {
    const int part[3] = {d == 2 ? 1 : nz, d == 1 ? 1 : ny, d == 0 ? 1 : nx}, origin[3] = {0, 0, 0};
    if (first_tag == 0) {
      MPI_Type_create_subarray(3, sizes, part, origin, MPI_ORDER_C, MPI_DOUBLE, &h->face[d]);
      MPI_Type_commit(&h->face[d]);
    }
    const int low[3] = {0, 0, 0};
    int ghost_low[3] = {0, 0, 0}, last[3] = {0, 0, 0}, ghost_high[3] = {0, 0, 0};
    ghost_low[d] = -1, last[d] = g->count[d] - 1, ghost_high[d] = g->count[d];
    const int* const corner[4] = {ghost_low, ghost_high, low, last};
    MPI_Request* r = &requests[4 * d];
    const int down = first_tag + 2 * d, up = down + 1;
    double* places[4];
    for (int k = 0; k < 4; ++k) places[k] = values + at(h, corner[k][0], corner[k][1], corner[k][2]);
    MPI_Recv_init(places[0], 1, h->face[d], g->below[d], up, g->comm, &r[0]);
    MPI_Recv_init(places[1], 1, h->face[d], g->above[d], down, g->comm, &r[1]);
    MPI_Send_init(places[2], 1, h->face[d], g->below[d], down, g->comm, &r[2]);
    MPI_Send_init(places[3], 1, h->face[d], g->above[d], up, g->comm, &r[3]);
  }
}

static int set_up(Heat* h, const Options* o) {
  static const int closed[3] = {0, 0, 0}, least[3] = {1, 1, 1};
  if (!grid_set_up(&h->grid, o, closed, least)) return 0;
  const int* n = h->grid.count;
  h->row = (size_t)n[0] + 2, h->plane = h->row * ((size_t)n[1] + 2), h->cells = h->plane * ((size_t)n[2] + 2);
  double** const arrays[] = {&h->heat,  &h->guess,    &h->residual,        &h->direction,       &h->smooth,
                             &h->image, &h->diagonal, &h->conductivity[0], &h->conductivity[1], &h->conductivity[2]};
  for (int i = 0; i < 10; ++i) *arrays[i] = grid_values(h->cells);
  h->tolerance = 1e-10, h->most_iterations = o->extra;
  fill(h);
  make_diagonal(h);
  for (size_t i = 0; i < h->cells; ++i) {
    if (h->diagonal[i] > h->largest_diagonal) h->largest_diagonal = h->diagonal[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, &h->largest_diagonal, 1, MPI_DOUBLE, MPI_MAX, h->grid.comm);
  make_requests(h, h->direction, h->requests[0], 0);
  make_requests(h, h->smooth, h->requests[1], 6);
  return 1;
}

static void release(Heat* h) {
  double* const arrays[] = {h->heat,     h->guess,           h->residual,        h->direction,      h->image,
                            h->diagonal, h->conductivity[0], h->conductivity[1], h->conductivity[2]};
  for (int i = 0; i < 9; ++i) free(arrays[i]);
  for (int i = 0; i < 24; ++i) MPI_Request_free(&h->requests[i / 12][i % 12]);
  for (int d = 0; d < 3; ++d) MPI_Type_free(&h->face[d]);
  MPI_Comm_free(&h->grid.comm);
}

/* Computes image = A p, where p is `direction` or `smooth` with their requests. */
static void apply(Heat* h, const double* p, MPI_Request* requests) {
  double begin = MPI_Wtime(), now;
  MPI_Startall(12, requests);
  MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
  now = MPI_Wtime(), h->halo_s += now - begin, begin = now;
  const double *kx = h->conductivity[0], *ky = h->conductivity[1], *kz = h->conductivity[2];
  const size_t row = h->row, plane = h->plane;
  for (int z = 0; z < h->grid.count[2]; ++z) {
    for (int y = 0; y < h->grid.count[1]; ++y) {
      const size_t first = at(h, 0, y, z), end = first + (size_t)h->grid.count[0];
      for (size_t i = first; i < end; ++i) {
        h->image[i] = h->diagonal[i] * p[i] - kx[i - 1] * p[i - 1] - kx[i] * p[i + 1] - ky[i - row] * p[i - row] -
                      ky[i] * p[i + row] - kz[i - plane] * p[i - plane] - kz[i] * p[i + plane];
      }
    }
  }
  h->compute_s += MPI_Wtime() - begin;
}

/* Returns the sum of a b, or of a b / diagonal. */
static double dot(Heat* h, const double* a, const double* b, int scaled) {
  double begin = MPI_Wtime(), now, own = 0;
  for (int z = 0; z < h->grid.count[2]; ++z) {
    for (int y = 0; y < h->grid.count[1]; ++y) {
      const size_t first = at(h, 0, y, z), end = first + (size_t)h->grid.count[0];
      double sum = 0;
      for (size_t i = first; i < end; ++i) sum += scaled ? a[i] * b[i] / h->diagonal[i] : a[i] * b[i];
      own += sum;
    }
  }
  now = MPI_Wtime(), h->compute_s += now - begin, begin = now;
  const double sum = grid_ordered_sum(&h->grid, own);
  h->sum_s += MPI_Wtime() - begin;
  return sum;
}

/* Computes a += factor b. */
static void add(Heat* h, double* a, double factor, const double* b) {
  const double begin = MPI_Wtime();
  for (size_t i = 0; i < h->cells; ++i) a[i] += factor * b[i];
  h->compute_s += MPI_Wtime() - begin;
}

/* Computes smooth = P residual: some terms of the Neumann series of A's inverse, that is, Jacobi steps. */
static void precondition(Heat* h) {
  for (int term = 0; term < terms; ++term) {
    if (term > 0) apply(h, h->smooth, h->requests[1]);
    const double begin = MPI_Wtime();
    for (int z = 0; z < h->grid.count[2]; ++z) {
      for (int y = 0; y < h->grid.count[1]; ++y) {
        const size_t first = at(h, 0, y, z), end = first + (size_t)h->grid.count[0];
        for (size_t i = first; i < end; ++i) {
          const double left = term > 0 ? h->residual[i] - h->image[i] : h->residual[i];
          h->smooth[i] = (term > 0 ? h->smooth[i] : 0) + left / h->diagonal[i];
        }
      }
    }
    h->compute_s += MPI_Wtime() - begin;
  }
}

/* Computes direction = smooth + factor direction. */
static void turn(Heat* h, double factor) {
  const double begin = MPI_Wtime();
  for (int z = 0; z < h->grid.count[2]; ++z) {
    for (int y = 0; y < h->grid.count[1]; ++y) {
      const size_t first = at(h, 0, y, z), end = first + (size_t)h->grid.count[0];
      for (size_t i = first; i < end; ++i) h->direction[i] = h->smooth[i] + factor * h->direction[i];
    }
  }
  h->compute_s += MPI_Wtime() - begin;
}

/* Makes one time step: solves A guess = heat, starting from the last heat; then guess is the new heat. */
static void conjugate_gradients(Heat* h) {
  memcpy(h->guess, h->heat, sizeof(double) * h->cells);
  memcpy(h->direction, h->guess, sizeof(double) * h->cells);
  apply(h, h->direction, h->requests[0]);
  memcpy(h->residual, h->heat, sizeof(double) * h->cells);
  add(h, h->residual, -1, h->image);
  precondition(h);
  turn(h, 0);
  const double target = h->tolerance * h->tolerance * dot(h, h->heat, h->heat, 1);
  double norm = dot(h, h->residual, h->smooth, 0);
  for (int i = 0; i < h->most_iterations && norm > target; ++i, ++h->iterations) {
    apply(h, h->direction, h->requests[0]);
    const double length = norm / dot(h, h->direction, h->image, 0), last = norm;
    add(h, h->guess, length, h->direction);
    add(h, h->residual, -length, h->image);
    precondition(h);
    norm = dot(h, h->residual, h->smooth, 0);
    turn(h, norm / last);
  }
  double* old = h->heat;
  h->heat = h->guess, h->guess = old;
}

/* Does the same by Chebyshev's iteration: it needs no dot products except for the check, and exchanges the solution
 * itself. Bounds of the eigenvalues of A / diagonal follow from its rows (Gershgorin). */
static void chebyshev(Heat* h) {
  const double target = h->tolerance * h->tolerance * dot(h, h->heat, h->heat, 1), half = 1 - 1 / h->largest_diagonal;
  double rho = half;
  memcpy(h->direction, h->heat, sizeof(double) * h->cells);
  memset(h->smooth, 0, sizeof(double) * h->cells);
  for (int i = 0; i < h->most_iterations; ++i, ++h->iterations) {
    apply(h, h->direction, h->requests[0]);
    memcpy(h->residual, h->heat, sizeof(double) * h->cells);
    add(h, h->residual, -1, h->image);
    if (i % 10 == 0 && dot(h, h->residual, h->residual, 1) <= target) break;
    const double next = i == 0 ? half : 1 / (2 / half - rho), keep = i == 0 ? 0 : next * rho;
    const double begin = MPI_Wtime(), part = i == 0 ? 1 : 2 * next / half;
    for (int z = 0; z < h->grid.count[2]; ++z) {
      for (int y = 0; y < h->grid.count[1]; ++y) {
        const size_t first = at(h, 0, y, z), end = first + (size_t)h->grid.count[0];
        for (size_t k = first; k < end; ++k) {
          h->smooth[k] = keep * h->smooth[k] + part * h->residual[k] / h->diagonal[k];
          h->direction[k] += h->smooth[k];
        }
      }
    }
    rho = next;
    h->compute_s += MPI_Wtime() - begin;
  }
  memcpy(h->guess, h->heat, sizeof(double) * h->cells);
  memcpy(h->heat, h->direction, sizeof(double) * h->cells);
}

static double total(Heat* h) {
  double own = 0;
  for (int z = 0; z < h->grid.count[2]; ++z) {
    for (int y = 0; y < h->grid.count[1]; ++y) {
      for (int x = 0; x < h->grid.count[0]; ++x) own += h->heat[at(h, x, y, z)];
    }
  }
  return grid_ordered_sum(&h->grid, own);
}

/* Checks the last system: is the old heat (in `guess`) A times the new heat? */
static int check(Heat* h, double heat_before) {
  memcpy(h->direction, h->heat, sizeof(double) * h->cells);
  apply(h, h->direction, h->requests[0]);
  memcpy(h->residual, h->guess, sizeof(double) * h->cells);
  add(h, h->residual, -1, h->image);
  const double left = sqrt(dot(h, h->residual, h->residual, 1) / dot(h, h->guess, h->guess, 1));
  return left <= 10 * h->tolerance && fabs(total(h) - heat_before) <= 1e-7 * heat_before;
}

static uint64_t state_hash(const Heat* h) {
  const Grid* g = &h->grid;
  uint64_t own = 0;
  for (int z = 0; z < g->count[2]; ++z) {
    for (int y = 0; y < g->count[1]; ++y) {
      for (int x = 0; x < g->count[0]; ++x) own += grid_hash_of(grid_place(g, x, y, z), h->heat[at(h, x, y, z)]);
    }
  }
  return grid_sum_of_hashes(g, own);
}

static void report(const Heat* h, const Options* o, int iterations, const double phases[3]) {
  const Grid* g = &h->grid;
  double sum[3];
  MPI_Reduce(phases, sum, 3, MPI_DOUBLE, MPI_SUM, 0, g->comm);
  if (g->rank != 0) return;
  const int* n = g->count;
  printf("cg3d: %d steps, %d iterations, of %d x %d x %d points on %d ranks (%d x %d x %d)\n", o->steps, iterations,
         g->all[0], g->all[1], g->all[2], g->size, g->dims[0], g->dims[1], g->dims[2]);
  printf("phases (mean over ranks): compute %.4f s, halo %.4f s, sums %.4f s\n", sum[0] / g->size, sum[1] / g->size,
         sum[2] / g->size);
  printf("messages of rank 0 %d times an iteration, to each neighbour there is: %zu B, %zu B, %zu B\n",
         strcmp(o->method, "cg") == 0 ? terms : 1, sizeof(double) * (size_t)(n[1] * n[2]),
         sizeof(double) * (size_t)(n[0] * n[2]), sizeof(double) * (size_t)(n[0] * n[1]));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static Heat h;
  Options o = {
      .local = {64, 64, 64}, .steps = 3, .warm_up = 1, .extra = 1000, .extra_name = "--iterations", .method = "cg"};
  const int known =
      grid_read_options(argc, argv, &o) && (strcmp(o.method, "cg") == 0 || strcmp(o.method, "chebyshev") == 0);
  if (!known || !set_up(&h, &o)) {
    return grid_usage(
        "cg3d [--local N | --grid NXxNYxNZ] [--steps N] [--warm-up N] [--iterations N] [--method cg|chebyshev]");
  }
  const double before = total(&h);
  void (*const step)(Heat*) = strcmp(o.method, "cg") == 0 ? conjugate_gradients : chebyshev;
  for (int i = 0; i < o.warm_up; ++i) step(&h);
  h.compute_s = h.halo_s = h.sum_s = 0, h.iterations = 0;
  MPI_Barrier(h.grid.comm);
  double time_s = MPI_Wtime();
  for (int i = 0; i < o.steps; ++i) step(&h);
  time_s = MPI_Wtime() - time_s;
  const double phases[3] = {h.compute_s, h.halo_s, h.sum_s};
  const int iterations = h.iterations, right = check(&h, before);
  report(&h, &o, iterations, phases);
  grid_report(&h.grid, "iteration", iterations > 0 ? iterations : 1, time_s, state_hash(&h), right);
  release(&h);
  MPI_Finalize();
  return right ? 0 : 1;
}
