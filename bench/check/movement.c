/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives that move data. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* Counts and displacements of a vector collective, in units of elements. */
typedef struct {
  int counts[MAX_RANKS], displs[MAX_RANKS];
  long total;
} Layout;

#if LARGE_COUNTS
typedef struct {
  MPI_Count counts[MAX_RANKS];
  MPI_Aint displs[MAX_RANKS];
} LargeLayout;

static LargeLayout enlarge(const Layout* l) {
  LargeLayout large;
  for (int i = 0; i < MAX_RANKS; i++) {
    large.counts[i] = l->counts[i];
    large.displs[i] = l->displs[i];
  }
  return large;
}
#define CALL(small, big) (c->large ? (big) : (small))
#else
#define CALL(small, big) (small)
#endif

/* Puts blocks from the last rank's to the first one's, with one unused element between them. */
static Layout backwards(const int* counts, int size) {
  Layout l;
  memset(&l, 0, sizeof l);
  for (int i = size - 1; i >= 0; i--) {
    l.counts[i] = counts[i];
    l.displs[i] = (int)l.total;
    l.total += counts[i] + 1;
  }
  return l;
}

/* How many times n elements go from one rank to another: zero, one or two times. */
static int factor(int source, int target) { return (source + 2 * target + 1) % 3; }

static Layout by_rank(int size, long n) {
  int counts[MAX_RANKS];
  for (int i = 0; i < size; i++) counts[i] = (int)(n * (i % 3));
  return backwards(counts, size);
}

static int fits(const Case* c, long send_elements, long receive_elements) {
  return send_elements <= c->st->max_elements && receive_elements <= c->rt->max_elements;
}

static void bcast(const Case* c) {
  const Type* t = c->rank == c->root ? c->st : c->rt;
  long n = c->rank == c->root ? c->sn : c->rn;
  if (!fits(c, c->sn, c->rn) || c->in_place) return;
  Buffer b = new_buffer(t, n);
  if (c->rank == c->root) fill(b.at, t, n, c->root, 0);
  fill(b.wanted, t, n, c->root, 0);
  int result =
      CALL(MPI_Bcast(b.at, (int)n, t->type, c->root, c->comm), MPI_Bcast_c(b.at, n, t->type, c->root, c->comm));
  judge(c, "Bcast", result, NULL, &b);
  free_buffer(&b);
}

static void gather(const Case* c) {
  int is_root = c->rank == c->root, skip_send = is_root && c->in_place;
  if (!fits(c, c->sn, c->rn * c->size)) return;
  Buffer s = new_buffer(c->st, c->sn), r = new_buffer(c->rt, is_root ? c->rn * c->size : 0);
  fill(s.at, c->st, c->sn, c->rank, c->root);
  keep(&s);
  for (int i = 0; is_root && i < c->size; i++) fill(r.wanted + i * c->rn * c->rt->extent, c->rt, c->rn, i, c->root);
  if (skip_send) fill(r.at + c->rank * c->rn * c->rt->extent, c->rt, c->rn, c->rank, c->root);
  /* Arguments that do not count at the other ranks must not be read. */
  void *from = skip_send ? MPI_IN_PLACE : s.at, *to = is_root ? r.at : NULL;
  long rn = is_root ? c->rn : -1;
  MPI_Datatype rt = is_root ? c->rt->type : MPI_DATATYPE_NULL;
  int result = CALL(MPI_Gather(from, (int)c->sn, c->st->type, to, (int)rn, rt, c->root, c->comm),
                    MPI_Gather_c(from, c->sn, c->st->type, to, rn, rt, c->root, c->comm));
  judge(c, "Gather", result, &s, &r);
  free_buffer(&s);
  free_buffer(&r);
}

static void scatter(const Case* c) {
  int is_root = c->rank == c->root, skip_receive = is_root && c->in_place;
  if (!fits(c, c->sn * c->size, c->rn)) return;
  Buffer s = new_buffer(c->st, is_root ? c->sn * c->size : 0), r = new_buffer(c->rt, c->rn);
  for (int i = 0; is_root && i < c->size; i++) fill(s.at + i * c->sn * c->st->extent, c->st, c->sn, c->root, i);
  keep(&s);
  if (!skip_receive) fill(r.wanted, c->rt, c->rn, c->root, c->rank);
  void *from = is_root ? s.at : NULL, *to = skip_receive ? MPI_IN_PLACE : r.at;
  long sn = is_root ? c->sn : -1;
  MPI_Datatype st = is_root ? c->st->type : MPI_DATATYPE_NULL;
  int result = CALL(MPI_Scatter(from, (int)sn, st, to, (int)c->rn, c->rt->type, c->root, c->comm),
                    MPI_Scatter_c(from, sn, st, to, c->rn, c->rt->type, c->root, c->comm));
  judge(c, "Scatter", result, &s, &r);
  free_buffer(&s);
  free_buffer(&r);
}

static void gatherv(const Case* c) {
  int is_root = c->rank == c->root, skip_send = is_root && c->in_place;
  Layout l = by_rank(c->size, c->rn);
  long sn = c->sn * (c->rank % 3);
  if (!fits(c, 2 * c->sn, l.total)) return;
  Buffer s = new_buffer(c->st, sn), r = new_buffer(c->rt, is_root ? l.total : 0);
  fill(s.at, c->st, sn, c->rank, c->root);
  keep(&s);
  for (int i = 0; is_root && i < c->size; i++)
    fill(r.wanted + l.displs[i] * c->rt->extent, c->rt, l.counts[i], i, c->root);
  if (skip_send) fill(r.at + l.displs[c->rank] * c->rt->extent, c->rt, l.counts[c->rank], c->rank, c->root);
  void *from = skip_send ? MPI_IN_PLACE : s.at, *to = is_root ? r.at : NULL;
  MPI_Datatype rt = is_root ? c->rt->type : MPI_DATATYPE_NULL;
#if LARGE_COUNTS
  LargeLayout ll = enlarge(&l);
#endif
  int result = CALL(MPI_Gatherv(from, (int)sn, c->st->type, to, is_root ? l.counts : NULL, is_root ? l.displs : NULL,
                                rt, c->root, c->comm),
                    MPI_Gatherv_c(from, sn, c->st->type, to, is_root ? ll.counts : NULL, is_root ? ll.displs : NULL, rt,
                                  c->root, c->comm));
  judge(c, "Gatherv", result, &s, &r);
  free_buffer(&s);
  free_buffer(&r);
}

static void scatterv(const Case* c) {
  int is_root = c->rank == c->root, skip_receive = is_root && c->in_place;
  Layout l = by_rank(c->size, c->sn);
  long rn = c->rn * (c->rank % 3);
  if (!fits(c, l.total, 2 * c->rn)) return;
  Buffer s = new_buffer(c->st, is_root ? l.total : 0), r = new_buffer(c->rt, rn);
  for (int i = 0; is_root && i < c->size; i++) fill(s.at + l.displs[i] * c->st->extent, c->st, l.counts[i], c->root, i);
  keep(&s);
  if (!skip_receive) fill(r.wanted, c->rt, rn, c->root, c->rank);
  void *from = is_root ? s.at : NULL, *to = skip_receive ? MPI_IN_PLACE : r.at;
  MPI_Datatype st = is_root ? c->st->type : MPI_DATATYPE_NULL;
#if LARGE_COUNTS
  LargeLayout ll = enlarge(&l);
#endif
  int result = CALL(MPI_Scatterv(from, is_root ? l.counts : NULL, is_root ? l.displs : NULL, st, to, (int)rn,
                                 c->rt->type, c->root, c->comm),
                    MPI_Scatterv_c(from, is_root ? ll.counts : NULL, is_root ? ll.displs : NULL, st, to, rn,
                                   c->rt->type, c->root, c->comm));
  judge(c, "Scatterv", result, &s, &r);
  free_buffer(&s);
  free_buffer(&r);
}

static void allgather(const Case* c) {
  if (!fits(c, c->sn, c->rn * c->size)) return;
  Buffer s = new_buffer(c->st, c->sn), r = new_buffer(c->rt, c->rn * c->size);
  fill(s.at, c->st, c->sn, c->rank, 0);
  keep(&s);
  for (int i = 0; i < c->size; i++) fill(r.wanted + i * c->rn * c->rt->extent, c->rt, c->rn, i, 0);
  if (c->in_place) fill(r.at + c->rank * c->rn * c->rt->extent, c->rt, c->rn, c->rank, 0);
  /* With MPI_IN_PLACE, the other arguments of the send buffer are ignored. */
  void* from = c->in_place ? MPI_IN_PLACE : s.at;
  long sn = c->in_place ? 0 : c->sn;
  MPI_Datatype st = c->in_place ? MPI_DATATYPE_NULL : c->st->type;
  int result = CALL(MPI_Allgather(from, (int)sn, st, r.at, (int)c->rn, c->rt->type, c->comm),
                    MPI_Allgather_c(from, sn, st, r.at, c->rn, c->rt->type, c->comm));
  judge(c, "Allgather", result, &s, &r);
  free_buffer(&s);
  free_buffer(&r);
}

static void allgatherv(const Case* c) {
  Layout l = by_rank(c->size, c->rn);
  long sn = c->sn * (c->rank % 3);
  if (!fits(c, 2 * c->sn, l.total)) return;
  Buffer s = new_buffer(c->st, sn), r = new_buffer(c->rt, l.total);
  fill(s.at, c->st, sn, c->rank, 0);
  keep(&s);
  for (int i = 0; i < c->size; i++) fill(r.wanted + l.displs[i] * c->rt->extent, c->rt, l.counts[i], i, 0);
  if (c->in_place) fill(r.at + l.displs[c->rank] * c->rt->extent, c->rt, l.counts[c->rank], c->rank, 0);
  void* from = c->in_place ? MPI_IN_PLACE : s.at;
  if (c->in_place) sn = 0;
  MPI_Datatype st = c->in_place ? MPI_DATATYPE_NULL : c->st->type;
#if LARGE_COUNTS
  LargeLayout ll = enlarge(&l);
#endif
  int result = CALL(MPI_Allgatherv(from, (int)sn, st, r.at, l.counts, l.displs, c->rt->type, c->comm),
                    MPI_Allgatherv_c(from, sn, st, r.at, ll.counts, ll.displs, c->rt->type, c->comm));
  judge(c, "Allgatherv", result, &s, &r);
  free_buffer(&s);
  free_buffer(&r);
}

static void alltoall(const Case* c) {
  if (!fits(c, c->sn * c->size, c->rn * c->size)) return;
  Buffer s = new_buffer(c->st, c->sn * c->size), r = new_buffer(c->rt, c->rn * c->size);
  for (int i = 0; i < c->size; i++) {
    fill(s.at + i * c->sn * c->st->extent, c->st, c->sn, c->rank, i);
    fill(r.wanted + i * c->rn * c->rt->extent, c->rt, c->rn, i, c->rank);
    if (c->in_place) fill(r.at + i * c->rn * c->rt->extent, c->rt, c->rn, c->rank, i);
  }
  keep(&s);
  void* from = c->in_place ? MPI_IN_PLACE : s.at;
  int result = CALL(MPI_Alltoall(from, (int)c->sn, c->st->type, r.at, (int)c->rn, c->rt->type, c->comm),
                    MPI_Alltoall_c(from, c->sn, c->st->type, r.at, c->rn, c->rt->type, c->comm));
  judge(c, "Alltoall", result, &s, &r);
  free_buffer(&s);
  free_buffer(&r);
}

static void alltoallv(const Case* c) {
  int to_i[MAX_RANKS], from_i[MAX_RANKS];
  for (int i = 0; i < c->size; i++) { /* in place, both directions of a pair must agree */
    to_i[i] = (int)c->sn * (c->in_place ? (i + c->rank) % 3 : factor(c->rank, i));
    from_i[i] = (int)c->rn * (c->in_place ? (i + c->rank) % 3 : factor(i, c->rank));
  }
  Layout sl = backwards(to_i, c->size), rl = backwards(from_i, c->size);
  if (!fits(c, c->sn * 3 * c->size, c->rn * 3 * c->size)) return;
  Buffer s = new_buffer(c->st, sl.total), r = new_buffer(c->rt, rl.total);
  for (int i = 0; i < c->size; i++) {
    fill(s.at + sl.displs[i] * c->st->extent, c->st, sl.counts[i], c->rank, i);
    fill(r.wanted + rl.displs[i] * c->rt->extent, c->rt, rl.counts[i], i, c->rank);
    if (c->in_place) fill(r.at + rl.displs[i] * c->rt->extent, c->rt, rl.counts[i], c->rank, i);
  }
  keep(&s);
  void* from = c->in_place ? MPI_IN_PLACE : s.at;
#if LARGE_COUNTS
  LargeLayout sll = enlarge(&sl), rll = enlarge(&rl);
#endif
  int result = CALL(
      MPI_Alltoallv(from, sl.counts, sl.displs, c->st->type, r.at, rl.counts, rl.displs, c->rt->type, c->comm),
      MPI_Alltoallv_c(from, sll.counts, sll.displs, c->st->type, r.at, rll.counts, rll.displs, c->rt->type, c->comm));
  judge(c, "Alltoallv", result, &s, &r);
  free_buffer(&s);
  free_buffer(&r);
}

static const struct {
  const char* name;
  void (*run)(const Case*);
  int rooted;
} movements[] = {{"bcast", bcast, 1},           {"gather", gather, 1},     {"scatter", scatter, 1},
                 {"gatherv", gatherv, 1},       {"scatterv", scatterv, 1}, {"allgather", allgather, 0},
                 {"allgatherv", allgatherv, 0}, {"alltoall", alltoall, 0}, {"alltoallv", alltoallv, 0}};

/* The same data as ints on one side: 0 no, 1 at the receivers, 2 at the senders. */
static int with_ints(Case* c, const Type* t, long n, int side) {
  c->st = c->rt = t;
  c->sn = c->rn = n;
  if (side == 0) return 1;
  if (t == int_type || strspn(t->kinds, "i") != (size_t)t->leaves) return 0;
  if (side == 1) c->rt = int_type, c->rn = n * t->leaves;
  if (side == 2) c->st = int_type, c->sn = n * t->leaves;
  return 1;
}

/* Steps from the first root to the last, with one in between. */
static int root_step(int size) { return size > 2 ? (size - 1) / 2 : 1; }

void check_movement(const char* collective, MPI_Comm comm, const char* comm_name, int large, int thorough) {
  static const long counts[] = {0, 1, 3, 17, 1000, 8192};
  Case c = {.comm = comm, .comm_name = comm_name, .large = large};
  MPI_Comm_rank(comm, &c.rank);
  MPI_Comm_size(comm, &c.size);
  for (size_t m = 0; m < sizeof movements / sizeof *movements; m++) {
    if (strcmp(movements[m].name, collective) != 0) continue;
    for (int t = 0; t < type_count; t++) {
      for (int n = 0; n < 6; n++) {
        if (!thorough && (n == 2 || n == 5 || t % 3 == 1)) continue;
        if (n == 5 && t > 1) continue;
        for (int side = 0; side < 3; side++) {
          if (!with_ints(&c, &types[t], counts[n], side) || (side > 0 && n > 3)) continue;
          for (c.in_place = 0; c.in_place < 2; c.in_place++) {
            for (c.root = 0; c.root < (movements[m].rooted ? c.size : 1);
                 c.root += thorough ? root_step(c.size) : c.size) {
              if (!library_fails(&c, collective)) movements[m].run(&c);
            }
          }
        }
      }
    }
  }
}
