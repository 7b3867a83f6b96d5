// SPDX-License-Identifier: Apache-2.0
// Topologies with reorder = 1: whichever process gets which rank, all that MPI reports of the new communicator must
// hold.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int old_rank, size, failures;

#define CHECK(condition)                                                \
  do {                                                                  \
    if (!(condition)) {                                                 \
      printf("rank %d, line %d: %s\n", old_rank, __LINE__, #condition); \
      ++failures;                                                       \
    }                                                                   \
  } while (0)

static int copied(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static void show(const char* what, MPI_Comm comm) {
  int rank = -1;
  if (comm != MPI_COMM_NULL) MPI_Comm_rank(comm, &rank);
  printf("%s %d %d\n", what, old_rank, rank);
  fflush(stdout);
}

/* Returns the old rank of each process of the new communicator, by its new rank. */
static int old_of(MPI_Comm comm, int rank) {
  int ranks, result;
  MPI_Comm_size(comm, &ranks);
  int* all = malloc(sizeof(int) * (size_t)ranks);
  MPI_Allgather(&old_rank, 1, MPI_INT, all, 1, MPI_INT, comm);
  result = all[rank];
  free(all);
  return result;
}

static void check_inherited(MPI_Comm comm, MPI_Errhandler expected) {
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(comm, &handler);
  CHECK(handler == expected);
  if (handler != MPI_ERRORS_RETURN && handler != MPI_ERRORS_ARE_FATAL) MPI_Errhandler_free(&handler);
}

static void grid(MPI_Comm from, int rows, int columns, int periodic, const char* what) {
  MPI_Comm comm = MPI_COMM_WORLD;
  const int dims[2] = {rows, columns}, periods[2] = {periodic, periodic};
  CHECK(MPI_Cart_create(from, 2, dims, periods, 1, &comm) == MPI_SUCCESS);
  show(what, comm);
  if (comm == MPI_COMM_NULL) return;
  int ranks, rank, kind, coords[2], again, got[2], wrap[2], below, above, seen = -1;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  MPI_Topo_test(comm, &kind);
  CHECK(ranks == rows * columns);
  CHECK(kind == MPI_CART);
  MPI_Cart_get(comm, 2, got, wrap, coords);
  CHECK(got[0] == rows && got[1] == columns && wrap[0] == periodic && wrap[1] == periodic);
  CHECK(coords[0] * columns + coords[1] == rank);
  MPI_Cart_rank(comm, coords, &again);
  CHECK(again == rank);
  for (int d = 0; d < 2; ++d) {
    MPI_Cart_shift(comm, d, 1, &below, &above);
    MPI_Sendrecv(&rank, 1, MPI_INT, above, 3, &seen, 1, MPI_INT, below, 3, comm, MPI_STATUS_IGNORE);
    CHECK(below == MPI_PROC_NULL || seen == below);
  }
  check_inherited(comm, MPI_ERRORS_RETURN);
  MPI_Comm_free(&comm);
}

/* A ring that all ranks declare. */
static void graph(void) {
  int* index = malloc(sizeof(int) * (size_t)size);
  int* edges = malloc(sizeof(int) * (size_t)size * 2);
  for (int i = 0; i < size; ++i) {
    edges[2 * i] = (i + 1) % size;
    edges[2 * i + 1] = (i + size - 1) % size;
    index[i] = 2 * (i + 1);
  }
  MPI_Comm comm;
  CHECK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &comm) == MPI_SUCCESS);
  show("graph", comm);
  int rank, count, found[2], kind;
  MPI_Comm_rank(comm, &rank);
  MPI_Topo_test(comm, &kind);
  CHECK(kind == MPI_GRAPH);
  MPI_Graph_neighbors_count(comm, rank, &count);
  CHECK(count == 2);
  MPI_Graph_neighbors(comm, rank, 2, found);
  CHECK(found[0] == (rank + 1) % size && found[1] == (rank + size - 1) % size);
  MPI_Comm_free(&comm);
  free(index);
  free(edges);
}

/* Rank r sends to r + 1 with weight 10 r + 1, and rank 0 to all others too; in the weighted graph the last rank sends
 * nothing. */
static int targets_of(int rank, int weighted, int* targets, int* weights) {
  int n = 0;
  if (weighted && rank == size - 1) return 0;
  targets[n] = (rank + 1) % size;
  weights[n++] = 10 * rank + 1;
  for (int r = 2; rank == 0 && r < size; ++r) targets[n] = r, weights[n++] = 7 * r;
  return n;
}

static int sources_of(int rank, int weighted, int* sources, int* weights) {
  int n = 0;
  int* targets = malloc(sizeof(int) * (size_t)size * 2);
  for (int r = 0; r < size; ++r) {
    const int k = targets_of(r, weighted, targets, targets + size);
    for (int i = 0; i < k; ++i) {
      if (targets[i] == rank) sources[n] = r, weights[n++] = targets[size + i];
    }
  }
  free(targets);
  return n;
}

static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

static void check_neighbours(MPI_Comm comm, int weighted, int ordered) {
  int in, out, has_weights, rank, kind;
  int* lists[8];
  for (int i = 0; i < 8; ++i) lists[i] = calloc((size_t)size * 2, sizeof(int));
  MPI_Comm_rank(comm, &rank);
  MPI_Topo_test(comm, &kind);
  CHECK(kind == MPI_DIST_GRAPH);
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &has_weights);
  CHECK(!has_weights == !weighted);
  CHECK(in == sources_of(rank, weighted, lists[0], lists[1]));
  CHECK(out == targets_of(rank, weighted, lists[2], lists[3]));
  MPI_Dist_graph_neighbors(comm, in, lists[4], weighted ? lists[5] : MPI_UNWEIGHTED, out, lists[6],
                           weighted ? lists[7] : MPI_UNWEIGHTED);
  if (!ordered) {
    const int sorted[8] = {in, in, out, out, in, in, out, out};
    for (int i = 0; i < 8; ++i) qsort(lists[i], (size_t)sorted[i], sizeof(int), compare);
  }
  CHECK(memcmp(lists[0], lists[4], sizeof(int) * (size_t)in) == 0);
  CHECK(memcmp(lists[2], lists[6], sizeof(int) * (size_t)out) == 0);
  CHECK(!weighted || memcmp(lists[1], lists[5], sizeof(int) * (size_t)in) == 0);
  CHECK(!weighted || memcmp(lists[3], lists[7], sizeof(int) * (size_t)out) == 0);
  int* seen = calloc((size_t)size * 2, sizeof(int));
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, seen, 1, MPI_INT, comm);
  for (int i = 0; i < in; ++i) CHECK(!ordered || seen[i] == lists[4][i]);
  free(seen);
  for (int i = 0; i < 8; ++i) free(lists[i]);
}

static void adjacent(int weighted) {
  int* lists[4];
  for (int i = 0; i < 4; ++i) lists[i] = calloc((size_t)size * 2, sizeof(int));
  const int in = sources_of(old_rank, weighted, lists[0], lists[1]);
  const int out = targets_of(old_rank, weighted, lists[2], lists[3]);
  const int* in_weights = weighted ? (in ? lists[1] : MPI_WEIGHTS_EMPTY) : MPI_UNWEIGHTED;
  const int* out_weights = weighted ? (out ? lists[3] : MPI_WEIGHTS_EMPTY) : MPI_UNWEIGHTED;
  MPI_Comm comm;
  CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, lists[0], in_weights, out, lists[2], out_weights,
                                       MPI_INFO_NULL, 1, &comm) == MPI_SUCCESS);
  show(weighted ? "adjacent_weighted" : "adjacent", comm);
  check_neighbours(comm, weighted, 1);
  MPI_Comm_free(&comm);
  for (int i = 0; i < 4; ++i) free(lists[i]);
}

/* Each rank declares the edges of the rank after it. */
static void distributed(int weighted) {
  const int source = (old_rank + 1) % size;
  int* lists[2];
  for (int i = 0; i < 2; ++i) lists[i] = calloc((size_t)size * 2, sizeof(int));
  const int degree = targets_of(source, weighted, lists[0], lists[1]);
  MPI_Comm comm;
  CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, lists[0], weighted ? lists[1] : MPI_UNWEIGHTED,
                              MPI_INFO_NULL, 1, &comm) == MPI_SUCCESS);
  show(weighted ? "distributed_weighted" : "distributed", comm);
  check_neighbours(comm, weighted, 0);
  MPI_Comm_free(&comm);
  for (int i = 0; i < 2; ++i) free(lists[i]);
}

/* Wrong arguments are left to the library, and no rank hangs. */
static void refused(void) {
  MPI_Comm comm = MPI_COMM_NULL;
  const int large[2] = {size, 2}, periods[2] = {0, 0};
  int class_plain = MPI_SUCCESS, class_reordered = MPI_SUCCESS;
  MPI_Error_class(MPI_Cart_create(MPI_COMM_WORLD, 2, large, periods, 0, &comm), &class_plain);
  MPI_Error_class(MPI_Cart_create(MPI_COMM_WORLD, 2, large, periods, 1, &comm), &class_reordered);
  CHECK(class_reordered != MPI_SUCCESS);
  CHECK(class_reordered == class_plain);
}

static void attributes(MPI_Comm from, int key) {
  const int dims[1] = {size}, periods[1] = {1};
  int found, found_plain;
  void* value;
  MPI_Comm comm, plain;
  MPI_Cart_create(from, 1, dims, periods, 1, &comm);
  MPI_Cart_create(from, 1, dims, periods, 0, &plain);
  MPI_Comm_get_attr(comm, key, &value, &found);
  MPI_Comm_get_attr(plain, key, &value, &found_plain);
  CHECK(found == found_plain);
  int rank;
  MPI_Comm_rank(plain, &rank);
  CHECK(rank == old_rank);
  CHECK(old_of(plain, rank) == old_rank);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&plain);
}

int main(int argc, char** argv) {
  int key, token = -1;
  MPI_Comm from;
  MPI_Request pending;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &old_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &from);
  MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(from, key, &key);
  /* Messages that build a communicator must not be taken for the program's messages. */
  MPI_Irecv(&token, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &pending);
  grid(from, 1, size, 1, "ring");
  grid(from, 1, size, 0, "line");
  grid(from, 2, size / 2, 0, "grid");
  grid(from, 1, size - 1, 1, "smaller");
  graph();
  for (int weighted = 0; weighted < 2; ++weighted) {
    adjacent(weighted);
    distributed(weighted);
  }
  attributes(from, key);
  refused();
  MPI_Send(&old_rank, 1, MPI_INT, (old_rank + 1) % size, 9, MPI_COMM_WORLD);
  MPI_Wait(&pending, MPI_STATUS_IGNORE);
  CHECK(token == (old_rank + size - 1) % size);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free(&from);
  int all;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (old_rank == 0) printf(all == 0 ? "verified\n" : "%d WRONG\n", all);
  MPI_Finalize();
  return all != 0;
}
