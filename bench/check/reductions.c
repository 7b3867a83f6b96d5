/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions. An element is a pair of integers, however an operation stores it, so that every result is exact. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

typedef struct {
  long a, b;
} Pair;

typedef struct {
  const char* name;
  MPI_Op op;
  Type layout;
  Pair (*combine)(Pair left, Pair right);
  long limit; /* values are below it */
} Operation;

enum { MODULUS = 9973, MAX_OPERATIONS = 8 };

static Operation operations[MAX_OPERATIONS];
static int operation_count;
static MPI_Datatype gapped_pair;

static Pair sum(Pair l, Pair r) { return (Pair){l.a + r.a, 0}; }
static Pair largest(Pair l, Pair r) { return (Pair){l.a > r.a ? l.a : r.a, 0}; }
static Pair exclusive_or(Pair l, Pair r) { return (Pair){l.a ^ r.a, 0}; }
static Pair least_where(Pair l, Pair r) { return l.a < r.a || (l.a == r.a && l.b < r.b) ? l : r; }
/* Composes x → a·x + b, the left function first; it is not commutative. */
static Pair compose(Pair l, Pair r) { return (Pair){l.a * r.a % MODULUS, (l.b * r.a + r.b) % MODULUS}; }

/* {int a; gap; int b} of 12 bytes. */
static void compose_function(void* in, void* inout, int* n, MPI_Datatype* type) {
  if (*type != gapped_pair) abort(); /* a user's function must see the user's type */
  for (int i = 0; i < *n; i++) {
    int *l = (int*)((char*)in + 12 * i), *r = (int*)((char*)inout + 12 * i);
    Pair x = compose((Pair){l[0], l[2]}, (Pair){r[0], r[2]});
    r[0] = (int)x.a;
    r[2] = (int)x.b;
  }
}

static void add_doubles(void* in, void* inout, int* n, MPI_Datatype* type) {
  if (*type != MPI_DOUBLE) abort();
  for (int i = 0; i < *n; i++) ((double*)inout)[i] += ((double*)in)[i];
}

static void add(const char* name, MPI_Op op, MPI_Datatype type, const char* kinds, MPI_Aint second, MPI_Aint extent,
                Pair (*combine)(Pair, Pair), long limit) {
  Operation* o = &operations[operation_count++];
  o->name = name;
  o->op = op;
  o->combine = combine;
  o->limit = limit;
  o->layout = (Type){.name = name, .type = type, .extent = extent, .leaves = (int)strlen(kinds), .offset = {0, second}};
  strcpy(o->layout.kinds, kinds);
  o->layout.end = kinds[1] ? second + 4 : extent;
}

static void make_operations(void) {
  MPI_Datatype inner;
  MPI_Op composition, addition;
  if (operation_count > 0) return;
  add("int sum", MPI_SUM, MPI_INT, "i", 0, 4, sum, 1000000);
  add("double sum", MPI_SUM, MPI_DOUBLE, "d", 0, 8, sum, 1000000);
  add("int maximum", MPI_MAX, MPI_INT, "i", 0, 4, largest, 1000000);
  add("exclusive or", MPI_BXOR, MPI_UNSIGNED, "i", 0, 4, exclusive_or, 1000000);
  add("double-int minimum with place", MPI_MINLOC, MPI_DOUBLE_INT, "di", 8, 16, least_where, 4);
  MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, MPI_INT, &inner);
  MPI_Type_create_resized(inner, 0, 12, &gapped_pair);
  MPI_Type_free(&inner);
  MPI_Type_commit(&gapped_pair);
  MPI_Op_create(compose_function, 0, &composition);
  add("own operation on a type with a gap, not commutative", composition, gapped_pair, "ii", 8, 12, compose, MODULUS);
  MPI_Op_create(add_doubles, 1, &addition);
  add("own addition of doubles", addition, MPI_DOUBLE, "d", 0, 8, sum, 1000000);
}

static Pair contribution(const Operation* o, int rank, long i) {
  unsigned long h = (unsigned long)(i + 1) * 2654435761ul + (unsigned long)(rank + 1) * 40503ul * 65537ul;
  h ^= h >> 13;
  return (Pair){(long)(h % (unsigned long)o->limit),
                o->combine == least_where ? rank : (long)((h >> 7) % (unsigned long)o->limit)};
}

static void store(const Operation* o, char* at, long i, Pair x) {
  char* p = at + i * o->layout.extent;
  int a = (int)x.a, b = (int)x.b;
  double d = (double)x.a;
  if (o->layout.kinds[0] == 'd') {
    memcpy(p, &d, sizeof d);
  } else {
    memcpy(p, &a, sizeof a);
  }
  if (o->layout.leaves == 2) memcpy(p + o->layout.offset[1], &b, sizeof b);
}

/* Combines elements begin … begin + n - 1 of the vectors of ranks `first` to `last`, in the ranks' order. */
static void want(const Operation* o, char* at, long begin, long n, int first, int last) {
  for (long i = 0; i < n; i++) {
    Pair x = contribution(o, first, begin + i);
    for (int r = first + 1; r <= last; r++) x = o->combine(x, contribution(o, r, begin + i));
    store(o, at, i, x);
  }
}

typedef struct {
  int counts[MAX_RANKS];
  long begin; /* of this rank's part */
  long total;
} Parts;

static Parts parts_of(const Case* c, int equal) {
  Parts p = {.total = 0};
  for (int i = 0; i < c->size; i++) {
    p.counts[i] = (int)(equal ? c->sn : c->sn * (i % 3) + i % 2);
    if (i < c->rank) p.begin += p.counts[i];
    p.total += p.counts[i];
  }
  return p;
}

#if LARGE_COUNTS
#define CALL(small, big) (c->large ? (big) : (small))
#else
#define CALL(small, big) (small)
#endif

static int call_reduce_scatter(const Case* c, const Operation* o, const void* from, void* to, const Parts* p) {
#if LARGE_COUNTS
  MPI_Count counts[MAX_RANKS];
  for (int i = 0; i < c->size; i++) counts[i] = p->counts[i];
#endif
  return CALL(MPI_Reduce_scatter(from, to, p->counts, o->layout.type, o->op, c->comm),
              MPI_Reduce_scatter_c(from, to, counts, o->layout.type, o->op, c->comm));
}

static int call(const Case* c, const char* collective, const Operation* o, const void* from, void* to, const Parts* p) {
  MPI_Datatype t = o->layout.type;
  int n = (int)c->sn;
  if (strcmp(collective, "reduce") == 0)
    return CALL(MPI_Reduce(from, to, n, t, o->op, c->root, c->comm),
                MPI_Reduce_c(from, to, n, t, o->op, c->root, c->comm));
  if (strcmp(collective, "allreduce") == 0)
    return CALL(MPI_Allreduce(from, to, n, t, o->op, c->comm), MPI_Allreduce_c(from, to, n, t, o->op, c->comm));
  if (strcmp(collective, "scan") == 0)
    return CALL(MPI_Scan(from, to, n, t, o->op, c->comm), MPI_Scan_c(from, to, n, t, o->op, c->comm));
  if (strcmp(collective, "exscan") == 0)
    return CALL(MPI_Exscan(from, to, n, t, o->op, c->comm), MPI_Exscan_c(from, to, n, t, o->op, c->comm));
  if (strcmp(collective, "reduce_scatter_block") == 0)
    return CALL(MPI_Reduce_scatter_block(from, to, n, t, o->op, c->comm),
                MPI_Reduce_scatter_block_c(from, to, n, t, o->op, c->comm));
  return call_reduce_scatter(c, o, from, to, p);
}

/* MPI does not specify what such a buffer holds, so nothing is compared. */
static void unspecified(const Case* c, const Operation* o, Buffer* b, long begin, long n) {
  (void)c;
  if (n > 0)
    memcpy(b->wanted + begin * o->layout.extent, b->at + begin * o->layout.extent, (size_t)(n * o->layout.extent));
}

static void reduction(const Case* c, const char* collective, const Operation* o) {
  int scatters = strncmp(collective, "reduce_scatter", 14) == 0, rooted = strcmp(collective, "reduce") == 0;
  int exclusive = strcmp(collective, "exscan") == 0, prefix = exclusive || strcmp(collective, "scan") == 0;
  Parts p = parts_of(c, strcmp(collective, "reduce_scatter_block") == 0);
  long n = scatters ? p.total : c->sn;
  int receives = !rooted || c->rank == c->root, in_place = c->in_place && receives;
  Buffer s = new_buffer(&o->layout, n), r = new_buffer(&o->layout, n);
  for (long i = 0; i < n; i++) store(o, in_place ? r.at : s.at, i, contribution(o, c->rank, i));
  keep(&s);
  if (in_place) keep(&r);
  int last = prefix ? c->rank - exclusive : c->size - 1;
  long begin = scatters ? p.begin : 0, got = scatters ? p.counts[c->rank] : n;
  if (receives && last >= 0) want(o, r.wanted, begin, got, 0, last);
  int result = call(c, collective, o, in_place ? MPI_IN_PLACE : s.at, receives ? r.at : NULL, &p);
  if (exclusive && c->rank == 0) unspecified(c, o, &r, 0, n);
  if (scatters) unspecified(c, o, &r, got, n - got);
  judge(c, collective, result, &s, &r);
  free_buffer(&s);
  free_buffer(&r);
}

int is_reduction(const char* collective) {
  return strstr(collective, "reduce") != NULL || strstr(collective, "scan") != NULL;
}

void check_reduction(const char* collective, MPI_Comm comm, const char* comm_name, int large, int thorough) {
  static const long counts[] = {0, 1, 3, 17, 1000, 8192};
  Case c = {.comm = comm, .comm_name = comm_name, .large = large};
  MPI_Comm_rank(comm, &c.rank);
  MPI_Comm_size(comm, &c.size);
  make_operations();
  for (int o = 0; o < operation_count; o++) {
    c.st = c.rt = &operations[o].layout;
    for (int n = 0; n < 6; n++) {
      if (!thorough && (n == 2 || n == 5 || o % 3 == 1)) continue;
      c.sn = c.rn = counts[n];
      for (c.in_place = 0; c.in_place < 2; c.in_place++) {
        for (c.root = 0; c.root < (strcmp(collective, "reduce") == 0 ? c.size : 1); c.root++) {
          if (!library_fails(&c, collective)) reduction(&c, collective, &operations[o]);
        }
      }
    }
  }
}
