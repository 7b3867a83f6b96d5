/* SPDX-License-Identifier: Apache-2.0 */
/* Levels 1 to 3 of the C API, and persistent collectives next to everything else that a program does: compiled
 * [levels|persistent|exchanges|kinds]. Prints "fine" on rank 0. */
#include <mpi.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "antiphon.h"

enum { MOST = 32, BLOCK = 40000 };
static int rank, size, wrong;

static void expect(int good, const char* what) {
  if (!good && wrong++ < 5) printf("wrong: rank %d: %s\n", rank, what);
}

static int bytes(int from, int to) {
  unsigned mix = (unsigned)(from * 7919 + to * 104729);
  return mix % 4 == 0 ? 0 : mix % 4 == 1 ? (int)(mix % 90) : (int)(mix % BLOCK);
}

static unsigned char content(int from, int to, int turn, int i) {
  return (unsigned char)(from * 31 + to * 7 + turn * 3 + i * 13 + i / 256);
}

typedef struct {
  int out[MOST], to[MOST], in[MOST], from[MOST];
  unsigned char send[MOST * BLOCK], recv[MOST * BLOCK];
} Exchange;

static Exchange* new_exchange(int gap) {
  Exchange* e = calloc(1, sizeof *e);
  int s = 0, r = 0;
  for (int i = 0; i < size; i++) {
    e->out[i] = bytes(rank, i);
    e->in[i] = bytes(i, rank);
    e->to[i] = s;
    e->from[i] = r;
    s += e->out[i] + gap;
    r += e->in[i] + gap;
  }
  return e;
}

static void fill(Exchange* e, int turn) {
  memset(e->recv, 0xA5, sizeof e->recv);
  for (int t = 0; t < size; t++)
    for (int i = 0; i < e->out[t]; i++) e->send[e->to[t] + i] = content(rank, t, turn, i);
}

static void judge(const Exchange* e, int turn, const char* what) {
  for (int s = 0; s < size; s++)
    for (int i = 0; i < e->in[s]; i++)
      if (e->recv[e->from[s] + i] != content(s, rank, turn, i)) return expect(0, what);
}

static void transmit(Exchange* e, antiphon_schedule schedule, int turn, const char* what) {
  fill(e, turn);
  int rc =
      antiphon_alltoallv_data_trans2(e->send, e->out, e->to, MPI_BYTE, e->recv, e->in, e->from, MPI_BYTE, schedule);
  expect(rc == ANTIPHON_OK, what);
  judge(e, turn, what);
}

static void levels(void) {
  Exchange *e = new_exchange(0), *apart = new_exchange(5);
  antiphon_schedule one, two, three;
  long long table[MOST * MOST];
  for (int i = 0; i < size * size; i++) table[i] = bytes(i / size, i % size);
  int rc = antiphon_alltoallv_control1(e->out, MPI_BYTE, MPI_COMM_WORLD, &one);
  if (size == 1) return expect(rc == ANTIPHON_BAD_COMM, "one rank");
  expect(rc == ANTIPHON_OK, "control1");
  expect(antiphon_alltoallv_control2(table, MPI_COMM_WORLD, &two) == ANTIPHON_OK, "control2");
  int count = 0, again = 0;
  expect(antiphon_schedule_parts(one, NULL, 0, &count) == ANTIPHON_OK && count > 0, "number of parts");
  antiphon_part* parts = malloc(sizeof *parts * (size_t)count);
  antiphon_schedule_parts(one, parts, count, &again);
  expect(antiphon_alltoallv_control3(parts, count, MPI_COMM_WORLD, &three) == ANTIPHON_OK, "control3");
  for (int turn = 0; turn < 3; turn++) {
    transmit(e, one, turn, "level 1");
    transmit(apart, two, turn, "level 2, other places");
    transmit(e, three, turn, "level 3");
    fill(e, turn);
    antiphon_alltoallv_data_trans1(e->send, e->out, e->to, MPI_BYTE, e->recv, e->in, e->from, MPI_BYTE, MPI_COMM_WORLD);
    judge(e, turn, "without knowledge");
  }
  /* Other counts on every rank are refused everywhere, and nothing is sent. */
  for (int i = 0; i < size; i++) e->in[i] = e->out[i] = 7;
  rc = antiphon_alltoallv_data_trans2(e->send, e->out, e->to, MPI_BYTE, e->recv, e->in, e->from, MPI_BYTE, one);
  expect(rc == ANTIPHON_BAD_PATTERN, "counts that were not scheduled");
  parts[0].from = size;
  antiphon_schedule bad;
  expect(antiphon_alltoallv_control3(parts, count, MPI_COMM_WORLD, &bad) == ANTIPHON_BAD_PATTERN && bad == NULL,
         "bad phases");
  antiphon_schedule_free(&one);
  antiphon_schedule_free(&two);
  antiphon_schedule_free(&three);
  expect(one == NULL, "freed");
  free(parts);
  free(e);
  free(apart);
}

static MPI_Request alltoallv_init(Exchange* e) {
  MPI_Request r = MPI_REQUEST_NULL;
  int rc =
      antiphon_alltoallv_init(e->send, e->out, e->to, MPI_BYTE, e->recv, e->in, e->from, MPI_BYTE, MPI_COMM_WORLD, &r);
#ifdef HAVE_INIT
  if (rc == ANTIPHON_BAD_COMM || rc == ANTIPHON_ABSENT) {
    MPI_Alltoallv_init(e->send, e->out, e->to, MPI_BYTE, e->recv, e->in, e->from, MPI_BYTE, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &r);
    rc = ANTIPHON_OK;
  }
#endif
  expect(rc == ANTIPHON_OK, "init");
  return r;
}

/* Rank 0 does something that waits for the last rank, which first waits for the exchange. */
static void others_wait(MPI_Request* r, int way) {
  int last = size - 1, x = 17, y = 0;
  MPI_Start(r);
  if (rank == last && way < 4) MPI_Wait(r, MPI_STATUS_IGNORE);
  switch (way) {
    case 0: /* a message */
      if (rank == last) MPI_Send(&x, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
      if (rank == 0) MPI_Recv(&y, 1, MPI_INT, last, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), expect(y == 17, "message");
      break;
    case 1: /* a collective */ MPI_Barrier(MPI_COMM_WORLD); break;
    case 2: /* a synchronous message to it */
      if (rank == 0) MPI_Ssend(&x, 1, MPI_INT, last, 6, MPI_COMM_WORLD);
      if (rank == last) MPI_Recv(&y, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    case 3: /* probing */
      if (rank == last) MPI_Send(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
      if (rank == 0)
        MPI_Probe(last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            MPI_Recv(&y, 1, MPI_INT, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    default: /* a reduction in between, on all */
      MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      expect(y == 17 * size, "reduction beside an exchange");
  }
  if (rank != last || way >= 4) MPI_Wait(r, MPI_STATUS_IGNORE);
}

/* Completes four started requests, in another way each turn. */
static void complete(MPI_Request r[4], int turn) {
  int flag = 0, index = 0, n = 0, indices[4];
  if (turn == 2) {
    for (int done = 0; done < 4; done++)
      MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE), expect(index >= 0 && index < 4, "Waitany");
    MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE);
    expect(index == MPI_UNDEFINED, "Waitany without active requests");
  } else if (turn == 3) {
    for (int done = 0; done < 4; done += n) MPI_Waitsome(4, r, &n, indices, MPI_STATUSES_IGNORE);
  } else if (turn == 4) {
    for (flag = 0; !flag; sched_yield()) MPI_Testall(4, r, &flag, MPI_STATUSES_IGNORE);
  } else if (turn == 5) {
    for (int i = 0; i < 4; i++)
      for (flag = 0; !flag; sched_yield()) MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE);
  } else {
    MPI_Status statuses[4];
    MPI_Waitall(4, r, statuses);
  }
}

static void persistent(void) {
  Exchange *a = new_exchange(0), *b = new_exchange(3);
  MPI_Request r[4] = {alltoallv_init(a), alltoallv_init(b), MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (size == 1 || r[0] == MPI_REQUEST_NULL) return;
  int token = rank, got = -1;
  MPI_Send_init(&token, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &r[2]);
  MPI_Recv_init(&got, 1, MPI_INT, (rank - 1 + size) % size, 3, MPI_COMM_WORLD, &r[3]);
  for (int turn = 0; turn < 6; turn++) {
    fill(a, turn);
    fill(b, turn + 100);
    if (turn == 1) { /* each rank has its own order */
      MPI_Start(&r[rank % 2]);
      MPI_Start(&r[1 - rank % 2]);
      MPI_Startall(2, r + 2);
    } else {
      MPI_Startall(4, r);
    }
    complete(r, turn);
    judge(a, turn, "persistent");
    judge(b, turn + 100, "persistent, at the same time");
    expect(got == (rank - 1 + size) % size, "ring");
  }
  for (int way = 0; way < 5; way++) {
    fill(a, way);
    others_wait(&r[0], way);
    judge(a, way, "persistent, others waiting");
  }
  /* The request is freed while it runs. */
  fill(b, 9);
  MPI_Start(&r[1]);
  MPI_Request_free(&r[1]);
  expect(r[1] == MPI_REQUEST_NULL, "freed");
  MPI_Start(&r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 4; i++)
    if (r[i] != MPI_REQUEST_NULL) MPI_Request_free(&r[i]);
}

#ifdef HAVE_INIT
static void all_kinds(void) {
  enum { N = 3000 };
  static int in[N * MOST], out[N * MOST], counts[MOST], displs[MOST];
  MPI_Request r[8];
  for (int i = 0; i < size; i++) counts[i] = N, displs[i] = i * N;
  MPI_Comm c = MPI_COMM_WORLD;
  static int bc[N], sum[N], all[N * MOST], va[N * MOST], sc[N], ga[N * MOST], part[N];
  MPI_Bcast_init(bc, N, MPI_INT, size - 1, c, MPI_INFO_NULL, &r[0]);
  MPI_Allreduce_init(in, sum, N, MPI_INT, MPI_SUM, c, MPI_INFO_NULL, &r[1]);
  MPI_Allgather_init(in, N, MPI_INT, all, N, MPI_INT, c, MPI_INFO_NULL, &r[2]);
  MPI_Allgatherv_init(in, N, MPI_INT, va, counts, displs, MPI_INT, c, MPI_INFO_NULL, &r[3]);
  MPI_Scatter_init(in, N, MPI_INT, sc, N, MPI_INT, 0, c, MPI_INFO_NULL, &r[4]);
  MPI_Gatherv_init(in, N, MPI_INT, ga, counts, displs, MPI_INT, 0, c, MPI_INFO_NULL, &r[5]);
  MPI_Reduce_scatter_block_init(in, part, N, MPI_INT, MPI_SUM, c, MPI_INFO_NULL, &r[6]);
  MPI_Barrier_init(c, MPI_INFO_NULL, &r[7]);
  memset(counts, 0x55, sizeof counts); /* Antiphon keeps its own copies, but a library may not */
  for (int i = 0; i < size; i++) counts[i] = N;
  for (int turn = 0; turn < 3; turn++) {
    for (int i = 0; i < N * size; i++) in[i] = rank * 1000 + i + turn;
    for (int i = 0; i < N; i++) bc[i] = rank == size - 1 ? i * turn : -1;
    MPI_Startall(8, r);
    MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
    int ranks = size * (size - 1) / 2;
    for (int i = 0; i < N; i += 7) {
      expect(bc[i] == i * turn, "Bcast_init");
      expect(sum[i] == 1000 * ranks + size * (i + turn), "Allreduce_init");
      expect(all[(size - 1) * N + i] == (size - 1) * 1000 + i + turn &&
                 va[(size - 1) * N + i] == (size - 1) * 1000 + i + turn,
             "Allgather(v)_init");
      expect(sc[i] == rank * N + i + turn, "Scatter_init");
      expect(rank != 0 || ga[(size - 1) * N + i] == (size - 1) * 1000 + i + turn, "Gatherv_init");
      expect(part[i] == 1000 * ranks + size * (rank * N + i + turn), "Reduce_scatter_block_init");
    }
  }
  for (int i = 0; i < 8; i++) MPI_Request_free(&r[i]);
  (void)out;
}
#endif

/* Exchanges with a type for each block, and with the neighbours of a ring, all started together. With the C API their
 * types and arrays are already freed; Open MPI 5.0's own exchanges keep using both. */
enum { ROWS = 900, W = 0, NV, NW, NA, NG, NGV, EXCHANGES };
typedef struct {
  int one_way[ROWS], column[ROWS][2], all[MOST][ROWS];
} Field;
static Field sent, got[EXCHANGES];

static int cell(int from, int turn, int i) { return from * 100000 + turn * 1000 + i; }

static void exchange_inits(MPI_Comm ring, int use_library, MPI_Request* r) {
  static int counts[MOST], displs[MOST], back[MOST], nowhere[MOST], one = 1, n = ROWS, zero = 0;
  static MPI_Aint column = offsetof(Field, column), plain = offsetof(Field, one_way);
  static MPI_Datatype types[MOST], from[MOST], columns, rows;
  int next = (rank + 1) % size, prev = (rank - 1 + size) % size, rc;
  MPI_Type_vector(ROWS, 1, 2, MPI_INT, &columns);
  MPI_Type_commit(&columns);
  MPI_Type_contiguous(ROWS, MPI_INT, &rows);
  MPI_Type_commit(&rows);
  for (int i = 0; i < size; i++) types[i] = columns, from[i] = rows; /* a column is sent and received as a row */
  counts[next] = 1;
  back[prev] = 1;
  displs[next] = (int)column;
  Field* g = got;
  for (int i = 0; i < EXCHANGES; i++) r[i] = MPI_REQUEST_NULL;
  if (use_library) {
#ifdef HAVE_INIT
    MPI_Info none = MPI_INFO_NULL;
    rc = MPI_Alltoallw_init(&sent, counts, displs, types, &g[W], back, nowhere, from, MPI_COMM_WORLD, none, &r[W]);
    rc |= MPI_Neighbor_alltoallv_init(&sent, &n, &zero, MPI_INT, &g[NV], &n, &zero, MPI_INT, ring, none, &r[NV]);
    rc |= MPI_Neighbor_alltoallw_init(&sent, &one, &column, &columns, &g[NW], &one, &plain, &rows, ring, none, &r[NW]);
    rc |= MPI_Neighbor_alltoall_init(&sent, ROWS, MPI_INT, &g[NA], 1, rows, ring, none, &r[NA]);
    rc |= MPI_Neighbor_allgather_init(&sent, 1, rows, &g[NG], ROWS, MPI_INT, ring, none, &r[NG]);
    rc |= MPI_Neighbor_allgatherv_init(&sent, ROWS, MPI_INT, &g[NGV], &n, &zero, MPI_INT, ring, none, &r[NGV]);
    expect(rc == MPI_SUCCESS, "init of the library");
#endif
  } else {
    rc = antiphon_alltoallw_init(&sent, counts, displs, types, &g[W], back, nowhere, from, MPI_COMM_WORLD, &r[W]);
    rc |= antiphon_neighbor_alltoallv_init(&sent, &n, &zero, MPI_INT, &g[NV], &n, &zero, MPI_INT, ring, &r[NV]);
    rc |= antiphon_neighbor_alltoallw_init(&sent, &one, &column, &columns, &g[NW], &one, &plain, &rows, ring, &r[NW]);
    expect(rc == (size == 1 ? ANTIPHON_BAD_COMM : ANTIPHON_OK), "init of the C API");
  }
  if (use_library) return;
  MPI_Type_free(&columns);
  MPI_Type_free(&rows);
  memset(types, 0, sizeof types);
  memset(counts, 0x55, sizeof counts);
  memset(displs, 0x55, sizeof displs);
}

static void judge_exchange(int turn, int which) {
  int prev = (rank - 1 + size) % size;
  for (int i = 0; i < ROWS; i++) {
    int wanted = cell(prev, turn, i) + (which == W || which == NW ? 500000000 : 0);
    if (got[which].one_way[i] != wanted) return expect(0, "persistent exchange with a neighbour");
  }
}

static void exchanges(int use_library) {
  int next = (rank + 1) % size, prev = (rank - 1 + size) % size, weight = 1, x = 1, y = 0;
  MPI_Comm ring;
  MPI_Request r[EXCHANGES];
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &prev, &weight, 1, &next, &weight, MPI_INFO_NULL, 0, &ring);
  exchange_inits(ring, use_library, r);
  for (int turn = 0; turn < 4; turn++) {
    memset(got, 0, sizeof got);
    for (int i = 0; i < ROWS; i++)
      sent.one_way[i] = cell(rank, turn, i), sent.column[i][0] = cell(rank, turn, i) + 500000000;
    for (int i = 0; i < EXCHANGES; i++)
      if (r[i] != MPI_REQUEST_NULL) MPI_Start(&r[i]);
    if (turn == 2) { /* with blocking calls of the same communicators at the same time */
      MPI_Neighbor_alltoall(&rank, 1, MPI_INT, &y, 1, MPI_INT, ring);
      expect(y == prev, "a blocking neighbour collective beside persistent ones");
      MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, ring);
    }
    MPI_Waitall(EXCHANGES, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < EXCHANGES; i++)
      if (r[i] != MPI_REQUEST_NULL) judge_exchange(turn, i);
  }
  for (int i = 0; i < EXCHANGES; i++)
    if (r[i] != MPI_REQUEST_NULL) MPI_Request_free(&r[i]);
  MPI_Comm_free(&ring);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 2 || !strcmp(argv[1], "levels")) levels();
  if (argc < 2 || !strcmp(argv[1], "persistent")) persistent();
#ifdef HAVE_INIT
  if (argc < 2 || !strcmp(argv[1], "exchanges")) exchanges(1);
#endif
  if (argc < 2 || !strcmp(argv[1], "exchanges")) exchanges(0);
#ifdef HAVE_INIT
  if (argc < 2 || !strcmp(argv[1], "kinds")) all_kinds();
#endif
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) puts(all == 0 ? "fine" : "not fine");
  MPI_Finalize();
  return all != 0;
}
