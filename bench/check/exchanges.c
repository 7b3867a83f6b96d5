/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges with a type for each block, and exchanges between the neighbours of a topology. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { MAX_BLOCKS = 2 * MAX_RANKS };

/* The blocks of one side: their partners, contents and positions. */
typedef struct {
  int count, ranks[MAX_BLOCKS], marks[MAX_BLOCKS]; /* a mark distinguishes the messages of one pair */
  int counts[MAX_BLOCKS], displs[MAX_BLOCKS];
  MPI_Aint places[MAX_BLOCKS];
  const Type* t[MAX_BLOCKS];
  MPI_Datatype types[MAX_BLOCKS];
  long bytes;
} Blocks;

static const Type byte_type = {
    .name = "blocks", .extent = 1, .first = 0, .end = 1, .leaves = 1, .kinds = "b", .max_elements = 1L << 40};

static void add(Blocks* b, int rank, int mark) {
  b->ranks[b->count] = rank;
  b->marks[b->count++] = mark;
}

/* Use only types that need no packing. */
static int plain_types;

/* Chooses the type and number of elements from one rank to another. `mirrored`: the same number comes back. */
static const Type* type_between(int source, int target, int shift, int mirrored) {
  int low = source < target ? source : target, high = source + target - low;
  if (plain_types) return low % 2 ? int_type : double_type;
  return &types[(mirrored ? low + 3 * high : 3 * source + 5 * target + shift) % type_count];
}

static int count_between(int source, int target, int n, int mirrored) {
  int few = mirrored ? (source + target) % 3 : (source + 2 * target + 1) % 3;
  const Type* t = type_between(source, target, 0, mirrored);
  return few * n > t->max_elements ? (int)t->max_elements : few * n;
}

/* Places the blocks from the last to the first, each where its type's elements need it. */
static void place(Blocks* b, int own, int sends, int n, int shift, int mirrored, const Type* all) {
  b->bytes = 0;
  for (int k = b->count - 1; k >= 0; k--) {
    int other = b->ranks[k] == MPI_PROC_NULL ? own : b->ranks[k], source = sends ? own : other,
        target = sends ? other : own;
    b->t[k] = all != NULL ? all : type_between(source, target, shift, mirrored);
    b->types[k] = b->t[k]->type;
    b->counts[k] = count_between(source, target, n, mirrored);
    if (b->counts[k] > b->t[k]->max_elements) b->counts[k] = (int)b->t[k]->max_elements;
    long extent = b->t[k]->extent > 0 ? b->t[k]->extent : 1;
    b->bytes = (b->bytes + extent - 1) / extent * extent; /* vector collectives count in extents */
    b->places[k] = b->bytes - (all != NULL ? 0 : b->t[k]->first);
    b->displs[k] = all != NULL ? (int)(b->bytes / extent) : (int)b->places[k];
    if (b->counts[k] > 0)
      b->bytes += (b->counts[k] - 1) * extent + b->t[k]->end - (all != NULL ? 0 : b->t[k]->first) + 8;
  }
}

static void write_blocks(char* at, const Blocks* b, int own, int sends) {
  for (int k = 0; k < b->count; k++) {
    if (b->ranks[k] == MPI_PROC_NULL) continue;
    int source = sends ? own : b->ranks[k], target = sends ? b->ranks[k] : own;
    fill(at + b->places[k], b->t[k], b->counts[k], source + 100 * b->marks[k], target);
  }
}

typedef enum {
  ALLTOALLW,
  NEIGHBOR_ALLGATHER,
  NEIGHBOR_ALLGATHERV,
  NEIGHBOR_ALLTOALL,
  NEIGHBOR_ALLTOALLV,
  NEIGHBOR_ALLTOALLW
} Function;
static const char* const names[] = {"Alltoallw",         "Neighbor_allgather", "Neighbor_allgatherv",
                                    "Neighbor_alltoall", "Neighbor_alltoallv", "Neighbor_alltoallw"};

static int call(Function f, const Case* c, const void* from, const Blocks* s, void* to, const Blocks* r) {
  MPI_Datatype st = c->st->type, rt = c->rt->type;
  int sn = (int)c->sn, rn = (int)c->rn;
#if LARGE_COUNTS
  MPI_Count sc[MAX_BLOCKS], rc[MAX_BLOCKS];
  MPI_Aint sd[MAX_BLOCKS], rd[MAX_BLOCKS];
  for (int k = 0; k < s->count; k++) sc[k] = s->counts[k], sd[k] = s->displs[k];
  for (int k = 0; k < r->count; k++) rc[k] = r->counts[k], rd[k] = r->displs[k];
  if (c->large) {
    switch (f) {
      case ALLTOALLW: return MPI_Alltoallw_c(from, sc, sd, s->types, to, rc, rd, r->types, c->comm);
      case NEIGHBOR_ALLGATHER: return MPI_Neighbor_allgather_c(from, sn, st, to, rn, rt, c->comm);
      case NEIGHBOR_ALLGATHERV: return MPI_Neighbor_allgatherv_c(from, sn, st, to, rc, rd, rt, c->comm);
      case NEIGHBOR_ALLTOALL: return MPI_Neighbor_alltoall_c(from, sn, st, to, rn, rt, c->comm);
      case NEIGHBOR_ALLTOALLV: return MPI_Neighbor_alltoallv_c(from, sc, sd, st, to, rc, rd, rt, c->comm);
      default: return MPI_Neighbor_alltoallw_c(from, sc, s->places, s->types, to, rc, r->places, r->types, c->comm);
    }
  }
#endif
  switch (f) {
    case ALLTOALLW:
      return MPI_Alltoallw(from, s->counts, s->displs, s->types, to, r->counts, r->displs, r->types, c->comm);
    case NEIGHBOR_ALLGATHER: return MPI_Neighbor_allgather(from, sn, st, to, rn, rt, c->comm);
    case NEIGHBOR_ALLGATHERV: return MPI_Neighbor_allgatherv(from, sn, st, to, r->counts, r->displs, rt, c->comm);
    case NEIGHBOR_ALLTOALL: return MPI_Neighbor_alltoall(from, sn, st, to, rn, rt, c->comm);
    case NEIGHBOR_ALLTOALLV:
      return MPI_Neighbor_alltoallv(from, s->counts, s->displs, st, to, r->counts, r->displs, rt, c->comm);
    default:
      return MPI_Neighbor_alltoallw(from, s->counts, s->places, s->types, to, r->counts, r->places, r->types, c->comm);
  }
}

/* Makes blocks of different sizes; those of alltoallw have different types. */
static void irregular(Case* c, Function f, Blocks* s, Blocks* r, int n, const Type* all) {
  c->st = c->rt = all != NULL ? all : &byte_type;
  c->sn = c->rn = n;
  place(s, c->rank, 1, n, n, c->in_place, all);
  place(r, c->rank, 0, n, n, c->in_place, all);
  Buffer from = new_buffer(&byte_type, s->bytes), to = new_buffer(&byte_type, r->bytes);
  write_blocks(from.at, s, c->rank, 1);
  keep(&from);
  if (c->in_place) write_blocks(to.at, r, c->rank, 1);
  write_blocks(to.wanted, r, c->rank, 0);
  judge(c, names[f], call(f, c, c->in_place ? MPI_IN_PLACE : from.at, s, to.at, r), &from, &to);
  free_buffer(&from);
  free_buffer(&to);
}

/* Makes blocks of one size, one after the other; allgather sends the same block to everybody. */
static void regular(Case* c, Function f, Blocks* s, Blocks* r, int n, const Type* t) {
  int same = f == NEIGHBOR_ALLGATHER || f == NEIGHBOR_ALLGATHERV, out = same ? 1 : s->count;
  if ((n + 1L) * MAX_BLOCKS > t->max_elements) return;
  c->st = c->rt = t;
  c->sn = c->rn = n;
  Buffer from = new_buffer(t, (long)n * out), to = new_buffer(t, (long)(n + 1) * r->count);
  for (int k = 0; k < out; k++) {
    if (same || s->ranks[k] != MPI_PROC_NULL)
      fill(from.at + k * n * t->extent, t, n, c->rank + (same ? 0 : 100 * s->marks[k]), same ? 0 : s->ranks[k]);
  }
  keep(&from);
  for (int k = 0; k < r->count; k++) {
    r->counts[k] = n;
    r->displs[k] = f == NEIGHBOR_ALLGATHERV ? (r->count - 1 - k) * (n + 1) : k * n; /* backwards, an element apart */
    if (r->ranks[k] == MPI_PROC_NULL) continue;
    fill(to.wanted + r->displs[k] * t->extent, t, n, r->ranks[k] + (same ? 0 : 100 * r->marks[k]), same ? 0 : c->rank);
  }
  judge(c, names[f], call(f, c, from.at, s, to.at, r), &from, &to);
  free_buffer(&from);
  free_buffer(&to);
}

void check_alltoallw(MPI_Comm comm, const char* comm_name, int large) {
  Case c = {.comm = comm, .comm_name = comm_name, .large = large};
  Blocks b = {0};
  MPI_Comm_rank(comm, &c.rank);
  MPI_Comm_size(comm, &c.size);
  for (int i = 0; i < c.size; i++) add(&b, i, 0);
  static const int counts[] = {0, 1, 17, 300, 5000};
  for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
    for (int variant = 0; variant < 4; variant++) {
      Blocks s = b, r = b;
      c.in_place = variant % 2;
      plain_types = variant / 2;
      irregular(&c, ALLTOALLW, &s, &r, counts[n], NULL);
    }
  }
  plain_types = 0;
}

static void check_neighbourhood(MPI_Comm comm, const char* name, const Blocks* s, const Blocks* r) {
  static const int counts[] = {0, 1, 40, 3000};
  for (int large = 0; large <= LARGE_COUNTS; large++) {
    Case c = {.comm = comm, .comm_name = name, .large = large};
    MPI_Comm_rank(comm, &c.rank);
    MPI_Comm_size(comm, &c.size);
    for (size_t n = large ? 2 : 0; n < (large ? 3 : sizeof counts / sizeof *counts); n++) {
      for (int t = (int)n; t < type_count; t += 4) {
        for (Function f = NEIGHBOR_ALLGATHER; f <= NEIGHBOR_ALLTOALL; f++) {
          Blocks out = *s, in = *r;
          regular(&c, f, &out, &in, counts[n], &types[t]);
        }
        Blocks out = *s, in = *r;
        if (types[t].first >= 0 && types[t].max_elements > 100000)
          irregular(&c, NEIGHBOR_ALLTOALLV, &out, &in, counts[n], &types[t]);
      }
      Blocks out = *s, in = *r;
      irregular(&c, NEIGHBOR_ALLTOALLW, &out, &in, counts[n], NULL);
    }
  }
}

/* A sparse, one-sided graph where some ranks have no neighbour; `twice`: each message in two parts. */
static void check_graph(int size, int rank, int twice) {
  Blocks s = {0}, r = {0};
  MPI_Comm comm;
  for (int part = 0; part <= twice; part++) {
    for (int i = size - 1; i >= 0; i--) {
      if ((rank + 2 * i) % 3 == 1) add(&s, i, part);
      if ((i + 2 * rank) % 3 == 1) add(&r, i, part);
    }
  }
  int weights[MAX_BLOCKS] = {0};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, r.count, r.ranks, weights, s.count, s.ranks, weights, MPI_INFO_NULL, 0,
                                 &comm);
  check_neighbourhood(comm, twice ? "a graph with double edges" : "a graph", &s, &r);
  MPI_Comm_free(&comm);
}

static void check_grid(int size, int periodic) {
  int dims[2] = {0, 0}, periods[2] = {periodic, 0}, rank, low, high;
  Blocks b = {0};
  MPI_Comm comm;
  if (size < 6) dims[1] = 1;
  MPI_Dims_create(size, 2, dims);
  if (periodic && dims[0] < 3)
    return; /* both neighbours are one rank, or this one: libraries differ in the order of its blocks */
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm);
  MPI_Comm_rank(comm, &rank);
  for (int d = 0; d < 2; d++) {
    MPI_Cart_shift(comm, d, 1, &low, &high);
    add(&b, low, 0);
    add(&b, high, 0);
  }
  check_neighbourhood(comm, periodic ? "a tube" : "a grid", &b, &b);
  MPI_Comm_free(&comm);
}

void check_neighbours(void) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_graph(size, rank, 0);
  if (!library_mixes_double_edges()) check_graph(size, rank, 1); /* these go to the library */
  check_grid(size, 0);
  check_grid(size, 1);
}
