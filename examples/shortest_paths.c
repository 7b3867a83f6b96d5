// SPDX-License-Identifier: Apache-2.0
/* Shortest paths between all pairs of vertices, by Floyd and Warshall. Plain MPI; it knows nothing of Antiphon.
 *
 * Each rank holds a run of rows of the distance matrix. In step k the rank with row k broadcasts it, and all ranks try
 * paths through vertex k: one Bcast per step, and its root moves slowly over the ranks. There are only collectives.
 * Afterwards each rank recomputes some of its rows by Dijkstra's algorithm, from the weights, and compares.
 *
 *   mpirun -n 16 ./shortest_paths [vertices] [seed]
 */
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

enum { none = 1 << 28, checked_rows = 2 }; /* the sum of two `none` does not overflow */

typedef struct {
  int rank, size, vertices;
  uint64_t seed;
  int first, count; /* own rows */
  int* rows;
  int* via; /* row k */
  double bcast_s, relax_s;
} Paths;

/* The weight of an edge. Every eighth pair has an edge, so that most shortest paths have several edges. */
static int weight(const Paths* p, int from, int to) {
  if (from == to) return 0;
  const uint64_t bits = scramble(p->seed ^ scramble((uint64_t)from * (uint64_t)p->vertices + (uint64_t)to));
  return bits % 8 == 0 ? 1 + (int)(bits / 8 % 1000) : none;
}

static int first_of(const Paths* p, int rank) { return (int)((int64_t)p->vertices * rank / p->size); }

static int* row(const Paths* p, int vertex) { return p->rows + (size_t)(vertex - p->first) * (size_t)p->vertices; }

static void set_up(Paths* p) {
  p->first = first_of(p, p->rank);
  p->count = first_of(p, p->rank + 1) - p->first;
  p->rows = allocate(sizeof(int) * (size_t)p->count * (size_t)p->vertices);
  p->via = allocate(sizeof(int) * (size_t)p->vertices);
  for (int i = p->first; i < p->first + p->count; ++i) {
    for (int j = 0; j < p->vertices; ++j) row(p, i)[j] = weight(p, i, j);
  }
}

/* Tries paths from each own vertex through k. */
static void relax(const Paths* p, int k) {
  const int* const via = p->via;
  for (int i = p->first; i < p->first + p->count; ++i) {
    int* const own = row(p, i);
    const int to_k = own[k];
    if (to_k >= none) continue;
    for (int j = 0; j < p->vertices; ++j) {
      const int through = to_k + via[j];
      own[j] = through < own[j] ? through : own[j];
    }
  }
}

static void search(Paths* p) {
  for (int k = 0, owner = 0; k < p->vertices; ++k) {
    while (k >= first_of(p, owner + 1)) ++owner;
    double t = MPI_Wtime(), now;
    if (owner == p->rank) memcpy(p->via, row(p, k), sizeof(int) * (size_t)p->vertices);
    MPI_Bcast(p->via, p->vertices, MPI_INT, owner, MPI_COMM_WORLD);
    now = MPI_Wtime(), p->bcast_s += now - t, t = now;
    relax(p, k);
    p->relax_s += MPI_Wtime() - t;
  }
}

/* Counts the distances from a vertex that differ from those of Dijkstra's algorithm. */
static int64_t compare(const Paths* p, int source) {
  int* distance = allocate(sizeof(int) * (size_t)p->vertices);
  char* done = allocate((size_t)p->vertices);
  memset(done, 0, (size_t)p->vertices);
  for (int j = 0; j < p->vertices; ++j) distance[j] = j == source ? 0 : none;
  for (;;) {
    int next = -1;
    for (int j = 0; j < p->vertices; ++j) {
      if (!done[j] && distance[j] < none && (next < 0 || distance[j] < distance[next])) next = j;
    }
    if (next < 0) break;
    done[next] = 1;
    for (int j = 0; j < p->vertices; ++j) {
      const int edge = weight(p, next, j);
      if (edge < none && distance[next] + edge < distance[j]) distance[j] = distance[next] + edge;
    }
  }
  int64_t wrong = 0;
  for (int j = 0; j < p->vertices; ++j) {
    const int found = row(p, source)[j];
    wrong += (found < none ? found : none) != distance[j];
  }
  free(distance);
  free(done);
  return wrong;
}

static int verify(const Paths* p) {
  int64_t wrong = 0, sum = 0;
  for (int i = 0; i < checked_rows && i < p->count; ++i) {
    wrong += compare(p, p->first + (int)((int64_t)(p->count - 1) * i / (checked_rows - 1)));
  }
  MPI_Allreduce(&wrong, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (sum != 0 && p->rank == 0) printf("%lld distances are wrong\n", (long long)sum);
  return sum == 0;
}

/* Prints the sum of all distances, which depends neither on the number of ranks nor on where they run. */
static void report(const Paths* p, double own_s, int right) {
  double own[2] = {p->bcast_s, p->relax_s}, mean[2], time_s;
  int64_t own_sum = 0, sum;
  for (int64_t i = 0; i < (int64_t)p->count * p->vertices; ++i) own_sum += p->rows[i] < none ? p->rows[i] : 0;
  MPI_Reduce(own, mean, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&own_s, &time_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&own_sum, &sum, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (p->rank != 0) return;
  printf("shortest_paths: %d vertices on %d ranks\n", p->vertices, p->size);
  printf("phases (mean over ranks): bcast %.4f s, relax %.4f s\n", mean[0] / p->size, mean[1] / p->size);
  printf("traffic: %d x bcast %zu B\n", p->vertices, sizeof(int) * (size_t)p->vertices);
  printf("sum of distances: %lld\n", (long long)sum);
  printf("time: %.6f s\n", time_s);
  printf("result: %s\n", right ? "verified" : "WRONG");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static Paths p;
  MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p.size);
  p.vertices = argc > 1 ? atoi(argv[1]) : 512;
  p.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  if (p.vertices < 2 || p.vertices > 65536 || argc > 3) {
    if (p.rank == 0) fprintf(stderr, "usage: shortest_paths [vertices, 2 to 65536] [seed]\n");
    MPI_Finalize();
    return 2;
  }
  set_up(&p);
  MPI_Barrier(MPI_COMM_WORLD);
  double time_s = MPI_Wtime();
  search(&p);
  time_s = MPI_Wtime() - time_s;
  const int right = verify(&p);
  report(&p, time_s, right);
  MPI_Finalize();
  return right ? 0 : 1;
}
