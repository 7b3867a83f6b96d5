// SPDX-License-Identifier: Apache-2.0
/* A 2-D Fourier transform whose transposition overlaps with computing. Plain MPI; it knows nothing of Antiphon.
 *
 * Each rank holds rows of a square array. It transforms them slab by slab; while an MPI_Ialltoall turns one slab, the
 * next is transformed. When all slabs are there, each rank transforms its columns. The input is one plane wave, so the
 * result must be zero but for one element.
 *
 *   mpirun -n 16 ./slabs [rows, a power of two] [slabs] [repetitions]
 */
#include <complex.h>
#include <math.h>

#include "base.h"

typedef double complex Number;

enum { wave_x = 5, wave_y = 3 };

typedef struct {
  int rank, size, n, rows, slabs, deep; /* own rows, and those of one slab */
  Number *input, *packed, *turned, *line, *roots;
} Array;

/* Transforms a line of n numbers in place (Cooley and Tukey, decimation in time). */
static void transform(Number* line, int n, const Number* roots) {
  for (int i = 1, j = 0; i < n; i++) {
    int bit = n / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i >= j) continue;
    const Number kept = line[i];
    line[i] = line[j];
    line[j] = kept;
  }
  for (int length = 2; length <= n; length *= 2) {
    for (int start = 0; start < n; start += length) {
      for (int k = 0; k < length / 2; k++) {
        const Number even = line[start + k], odd = line[start + k + length / 2] * roots[k * (n / length)];
        line[start + k] = even + odd;
        line[start + k + length / 2] = even - odd;
      }
    }
  }
}

/* Transforms the rows of a slab and puts them in the order of the ranks that get them. */
static void rows_of_slab(const Array* a, int slab) {
  const int each = a->n / a->size;
  Number* const packed = a->packed + (size_t)slab * (size_t)a->deep * (size_t)a->n;
  for (int d = 0; d < a->deep; d++) {
    Number* const row = a->input + ((size_t)slab * (size_t)a->deep + (size_t)d) * (size_t)a->n;
    transform(row, a->n, a->roots);
    for (int x = 0; x < a->n; x++)
      packed[((size_t)(x / each) * (size_t)a->deep + (size_t)d) * (size_t)each + (size_t)(x % each)] = row[x];
  }
}

static void rows_and_turns(const Array* a) {
  const int each = a->n / a->size, block = a->deep * each;
  MPI_Request* const requests = allocate(sizeof *requests * (size_t)a->slabs);
  for (int slab = 0; slab < a->slabs; slab++) {
    const size_t at = (size_t)slab * (size_t)a->deep * (size_t)a->n;
    int ended = 0;
    rows_of_slab(a, slab);
    MPI_Ialltoall(a->packed + at, block, MPI_C_DOUBLE_COMPLEX, a->turned + at, block, MPI_C_DOUBLE_COMPLEX,
                  MPI_COMM_WORLD, &requests[slab]);
    if (slab > 0) MPI_Test(&requests[slab - 1], &ended, MPI_STATUS_IGNORE);
  }
  MPI_Waitall(a->slabs, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

/* Transforms the own columns; returns how many elements are wrong, and their greatest deviation. */
static long columns(const Array* a) {
  const int each = a->n / a->size;
  long wrong = 0;
  for (int c = 0; c < each; c++) {
    for (int slab = 0; slab < a->slabs; slab++) {
      const Number* const turned = a->turned + (size_t)slab * (size_t)a->deep * (size_t)a->n;
      for (int from = 0; from < a->size; from++)
        for (int d = 0; d < a->deep; d++)
          a->line[from * a->rows + slab * a->deep + d] =
              turned[((size_t)from * (size_t)a->deep + (size_t)d) * (size_t)each + (size_t)c];
    }
    transform(a->line, a->n, a->roots);
    for (int y = 0; y < a->n; y++) {
      const int is_wave = a->rank * each + c == wave_x && y == wave_y;
      const double wanted = is_wave ? (double)a->n * (double)a->n : 0;
      wrong += cabs(a->line[y] - wanted) > 1e-6 * (double)a->n;
    }
  }
  return wrong;
}

static void fill(const Array* a) {
  for (int r = 0; r < a->rows; r++)
    for (int x = 0; x < a->n; x++) {
      const double turn = (double)(wave_x * x + wave_y * (a->rank * a->rows + r)) / a->n;
      a->input[(size_t)r * (size_t)a->n + (size_t)x] = cexp(2 * M_PI * I * (turn - floor(turn)));
    }
  for (int k = 0; k < a->n / 2; k++) a->roots[k] = cexp(-2 * M_PI * I * k / a->n);
}

int main(int argc, char** argv) {
  Array a = {.n = argc > 1 ? atoi(argv[1]) : 1024, .slabs = argc > 2 ? atoi(argv[2]) : 4};
  const int repetitions = argc > 3 ? atoi(argv[3]) : 4;
  long wrong = 0, all_wrong = 0;
  double time_s = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &a.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &a.size);
  if (a.n < 2 || (a.n & (a.n - 1)) != 0 || a.slabs < 1 || a.n % a.size != 0 || a.n / a.size % a.slabs != 0) {
    if (a.rank == 0) fprintf(stderr, "usage: slabs [rows] [slabs] [repetitions]; ranks times slabs divide the rows\n");
    MPI_Finalize();
    return 2;
  }
  a.rows = a.n / a.size;
  a.deep = a.rows / a.slabs;
  const size_t bytes = sizeof(Number) * (size_t)a.rows * (size_t)a.n;
  a.input = allocate(bytes);
  a.packed = allocate(bytes);
  a.turned = allocate(bytes);
  a.line = allocate(sizeof(Number) * (size_t)a.n);
  a.roots = allocate(sizeof(Number) * (size_t)a.n);
  for (int repetition = 0; repetition < repetitions; repetition++) {
    fill(&a);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = MPI_Wtime();
    rows_and_turns(&a);
    wrong += columns(&a);
    MPI_Barrier(MPI_COMM_WORLD);
    time_s += MPI_Wtime() - start_s;
  }
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (a.rank == 0) {
    printf("slabs: %d x %d in %d slabs, %d ranks: %.3f s each\n", a.n, a.n, a.slabs, a.size, time_s / repetitions);
    puts(all_wrong == 0 ? "verified" : "WRONG");
  }
  MPI_Finalize();
  return all_wrong != 0;
}
