// SPDX-License-Identifier: Apache-2.0
/* LU factors of a matrix, with look-ahead. Plain MPI; it knows nothing of Antiphon.
 *
 * Columns are dealt out to the ranks in blocks, cyclically. The owner of block k factors it and broadcasts it, and all
 * ranks update their later blocks with it. The next owner first updates its next block, factors it and starts its
 * MPI_Ibcast; all ranks update the rest while that broadcast is under way.
 *
 * The matrix is the product of two triangular matrices of small whole numbers, so the factors must be those, exactly.
 *
 *   mpirun -n 16 ./lookahead [columns] [columns of a block]
 */
#include <string.h>

#include "base.h"

typedef struct {
  int rank, size, n, width, blocks;
  double** own; /* blocks by number: column after column; null on other ranks */
} Matrix;

static double lower(int i, int j) { return i == j ? 1 : (double)((i * 7 + j * 3) % 3 - 1); }
static double upper(int i, int j) { return i == j ? 1 : (double)((i + 2 * j) % 3 - 1); }

static int owner(const Matrix* m, int block) { return block % m->size; }
static int rows_of(const Matrix* m, int block) { return m->n - block * m->width; }

static void fill(Matrix* m) {
  for (int block = m->rank; block < m->blocks; block += m->size) {
    m->own[block] = allocate(sizeof(double) * (size_t)m->n * (size_t)m->width);
    for (int c = 0; c < m->width; c++) {
      const int j = block * m->width + c;
      double* const column = m->own[block] + (size_t)c * (size_t)m->n;
      for (int k = 0; k <= j; k++)
        for (int i = k; i < m->n; i++) column[i] += lower(i, k) * upper(k, j);
    }
  }
}

/* Factors a block whose earlier updates are done, and copies its rows from the diagonal on, to be told to all. */
static void factor(const Matrix* m, int block, double* panel) {
  const int first = block * m->width, rows = rows_of(m, block);
  for (int c = 0; c < m->width; c++) {
    double* const column = m->own[block] + (size_t)c * (size_t)m->n + first;
    for (int i = c + 1; i < rows; i++) column[i] /= column[c];
    for (int later = c + 1; later < m->width; later++) {
      double* const other = m->own[block] + (size_t)later * (size_t)m->n + first;
      for (int i = c + 1; i < rows; i++) other[i] -= column[i] * other[c];
    }
    memcpy(panel + (size_t)c * (size_t)rows, column, sizeof(double) * (size_t)rows);
  }
}

/* Updates an own block with the factored block `done`. */
static void update(const Matrix* m, int block, int done, const double* panel) {
  const int first = done * m->width, rows = rows_of(m, done);
  for (int c = 0; c < m->width; c++) {
    double* const column = m->own[block] + (size_t)c * (size_t)m->n + first;
    for (int k = 0; k < m->width; k++) {
      const double* const factors = panel + (size_t)k * (size_t)rows;
      for (int i = k + 1; i < rows; i++) column[i] -= factors[i] * column[k];
    }
  }
}

static void factorize(const Matrix* m) {
  double* panels[2];
  MPI_Request request;
  for (int i = 0; i < 2; i++) panels[i] = allocate(sizeof(double) * (size_t)m->n * (size_t)m->width);
  if (m->rank == 0) factor(m, 0, panels[0]);
  MPI_Bcast(panels[0], m->n * m->width, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int done = 0; done + 1 < m->blocks; done++) {
    const int next = done + 1;
    const double* const panel = panels[done % 2];
    double* const coming = panels[next % 2];
    if (owner(m, next) == m->rank) {
      update(m, next, done, panel);
      factor(m, next, coming);
    }
    MPI_Ibcast(coming, rows_of(m, next) * m->width, MPI_DOUBLE, owner(m, next), MPI_COMM_WORLD, &request);
    for (int block = m->rank; block < m->blocks; block += m->size) {
      int ended = 0;
      if (block <= next) continue;
      update(m, block, done, panel);
      MPI_Test(&request, &ended, MPI_STATUS_IGNORE); /* which is also when the broadcast moves on */
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 2; i++) free(panels[i]);
}

static long wrong_elements(const Matrix* m) {
  long wrong = 0;
  for (int block = m->rank; block < m->blocks; block += m->size) {
    for (int c = 0; c < m->width; c++) {
      const int j = block * m->width + c;
      const double* const column = m->own[block] + (size_t)c * (size_t)m->n;
      for (int i = 0; i < m->n; i++) wrong += column[i] != (i > j ? lower(i, j) : upper(i, j));
    }
  }
  return wrong;
}

int main(int argc, char** argv) {
  Matrix m = {.n = argc > 1 ? atoi(argv[1]) : 1024, .width = argc > 2 ? atoi(argv[2]) : 16};
  long wrong, all_wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &m.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &m.size);
  if (m.width < 1 || m.n < m.width || m.n % m.width != 0) {
    if (m.rank == 0) fprintf(stderr, "usage: lookahead [columns] [columns of a block, a divisor of columns]\n");
    MPI_Finalize();
    return 2;
  }
  m.blocks = m.n / m.width;
  m.own = allocate(sizeof *m.own * (size_t)m.blocks);
  fill(&m);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start_s = MPI_Wtime();
  factorize(&m);
  MPI_Barrier(MPI_COMM_WORLD);
  const double time_s = MPI_Wtime() - start_s;
  wrong = wrong_elements(&m);
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (m.rank == 0) {
    printf("lookahead: %d x %d in blocks of %d, %d ranks: %.3f s\n", m.n, m.n, m.width, m.size, time_s);
    puts(all_wrong == 0 ? "verified" : "WRONG");
  }
  for (int block = 0; block < m.blocks; block++) free(m.own[block]);
  free(m.own);
  MPI_Finalize();
  return all_wrong != 0;
}
