// SPDX-License-Identifier: Apache-2.0
/* Two exchanges among neighbours that overlap with computing. Plain MPI; it knows nothing of Antiphon.
 *
 * `stencil`: the faces of a rank's cube go to its six neighbours in a periodic grid (MPI_Ineighbor_alltoallv) while its
 * inner points are averaged. `faces`: the same faces before the points, without overlap (MPI_Neighbor_alltoallw).
 * `sparse`: each rank sends blocks of different sizes to some others, chosen at random, on a
 * distributed graph. Every received number is compared with what its sender must have sent.
 *
 *   mpirun -n 64 ./neighbours stencil|faces|sparse [numbers of a face or block] [steps]
 */
#include <string.h>

#include "base.h"

enum { faces = 6, degree = 6, inner_points = 1 << 14 };

typedef struct {
  MPI_Comm comm;
  int rank, in, out;
  int sources[faces * degree], targets[faces * degree];
  int sent_counts[faces * degree], sent_at[faces * degree], got_counts[faces * degree], got_at[faces * degree];
  double *sent, *got;
  int blocking;
} Exchange;

static double value(int from, int to, int step, int i) { return from * 1e6 + to * 1e3 + step + i % 7; }

/* A block's size depends on both of its ranks, and both know it. */
static int sparse_count(int from, int to, int numbers) {
  return numbers / 2 + (from * 31 + to * 17) % (numbers / 2 + 1);
}

static void make_stencil(Exchange* e, int size) {
  int dims[3] = {0, 0, 0}, periods[3] = {1, 1, 1};
  MPI_Dims_create(size, 3, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &e->comm);
  MPI_Comm_rank(e->comm, &e->rank);
  for (int d = 0; d < 3; d++) MPI_Cart_shift(e->comm, d, 1, &e->sources[2 * d], &e->sources[2 * d + 1]);
  memcpy(e->targets, e->sources, sizeof e->targets);
  e->in = e->out = faces;
}

/* Tells whether a rank sends to another: about `degree` of them, and always to the next. */
static int sends(int from, int to, int size) {
  if (from == to) return 0;
  return to == (from + 1) % size ||
         (int)(scramble((uint64_t)from * 65536 + (uint64_t)to) % (uint64_t)size) < degree - 1;
}

static void make_sparse(Exchange* e, int size) {
  for (int other = 0; other < size; other++) {
    if (sends(e->rank, other, size) && e->out < faces * degree) e->targets[e->out++] = other;
    if (sends(other, e->rank, size) && e->in < faces * degree) e->sources[e->in++] = other;
  }
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, e->in, e->sources, MPI_UNWEIGHTED, e->out, e->targets, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &e->comm);
}

static void make_room(Exchange* e, int sparse, int numbers) {
  int out = 0, in = 0;
  for (int k = 0; k < e->out; k++, out += e->sent_counts[k - 1]) {
    e->sent_counts[k] = sparse ? sparse_count(e->rank, e->targets[k], numbers) : numbers;
    e->sent_at[k] = out;
  }
  for (int k = 0; k < e->in; k++, in += e->got_counts[k - 1]) {
    e->got_counts[k] = sparse ? sparse_count(e->sources[k], e->rank, numbers) : numbers;
    e->got_at[k] = in;
  }
  e->sent = allocate(sizeof(double) * (size_t)out);
  e->got = allocate(sizeof(double) * (size_t)in);
}

static long wrong_numbers(const Exchange* e, int step) {
  long wrong = 0;
  for (int k = 0; k < e->in; k++)
    for (int i = 0; i < e->got_counts[k]; i++)
      wrong += e->got[e->got_at[k] + i] != value(e->sources[k], e->rank, step, i);
  return wrong;
}

static void exchange_faces(const Exchange* e) {
  MPI_Datatype types[faces];
  MPI_Aint sent_at[faces], got_at[faces];
  for (int k = 0; k < faces; k++) {
    types[k] = MPI_DOUBLE;
    sent_at[k] = (MPI_Aint)sizeof(double) * e->sent_at[k];
    got_at[k] = (MPI_Aint)sizeof(double) * e->got_at[k];
  }
  MPI_Neighbor_alltoallw(e->sent, e->sent_counts, sent_at, types, e->got, e->got_counts, got_at, types, e->comm);
}

static long run(Exchange* e, int steps) {
  static double points[inner_points];
  long wrong = 0;
  for (int step = 0; step < steps; step++) {
    MPI_Request request = MPI_REQUEST_NULL;
    int ended = 0;
    for (int k = 0; k < e->out; k++)
      for (int i = 0; i < e->sent_counts[k]; i++) e->sent[e->sent_at[k] + i] = value(e->rank, e->targets[k], step, i);
    if (e->blocking) exchange_faces(e);
    else
      MPI_Ineighbor_alltoallv(e->sent, e->sent_counts, e->sent_at, MPI_DOUBLE, e->got, e->got_counts, e->got_at,
                              MPI_DOUBLE, e->comm, &request);
    for (int part = 0; part < 4; part++) {
      for (int i = 1; i + 1 < inner_points; i++) points[i] = (points[i - 1] + points[i] + points[i + 1] + step) / 4;
      MPI_Test(&request, &ended, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += wrong_numbers(e, step);
  }
  return wrong;
}

int main(int argc, char** argv) {
  static Exchange e;
  const int sparse = argc > 1 && strcmp(argv[1], "sparse") == 0;
  const int numbers = argc > 2 ? atoi(argv[2]) : 4096, steps = argc > 3 ? atoi(argv[3]) : 20;
  long wrong, all_wrong = 0;
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &e.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  e.blocking = argc > 1 && strcmp(argv[1], "faces") == 0;
  if (numbers < 2 || steps < 1 || (!sparse && !e.blocking && argc > 1 && strcmp(argv[1], "stencil") != 0)) {
    if (e.rank == 0) fprintf(stderr, "usage: neighbours stencil|faces|sparse [numbers of a face or block] [steps]\n");
    MPI_Finalize();
    return 2;
  }
  if (sparse) make_sparse(&e, size);
  else make_stencil(&e, size);
  make_room(&e, sparse, numbers);
  wrong = run(&e, 2); /* makes connections */
  MPI_Barrier(MPI_COMM_WORLD);
  const double start_s = MPI_Wtime();
  wrong += run(&e, steps);
  MPI_Barrier(MPI_COMM_WORLD);
  const double step_s = (MPI_Wtime() - start_s) / steps;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (e.rank == 0) {
    printf("neighbours %s: %d numbers, %d ranks: %.2f ms a step\n", argc > 1 ? argv[1] : "stencil", numbers, size,
           1e3 * step_s);
    puts(all_wrong == 0 ? "verified" : "WRONG");
  }
  MPI_Comm_free(&e.comm);
  MPI_Finalize();
  return all_wrong != 0;
}
