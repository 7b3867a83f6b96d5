/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of changing sizes and roots, every byte checked: multicast OPERATIONS [LONGEST_BYTES] [COLLECTIVES]
 * [DIES_AFTER_MS]. Collectives are letters of "bsvaAmrkwn": bcast, scatter, scatterv, allgather, allgatherv, allreduce,
 * reduce_scatter_block, barrier, a bcast whose root first takes in a long message that another rank has under way while
 * it waits for the bcast, and one whose root first waits for a nonblocking allreduce. The last rank kills itself after
 * so many milliseconds, wherever it is then. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static int rank, size;
static long wrong;
static unsigned char *in, *out;
static int *counts, *displs;

static unsigned char byte_of(int call, int from, int to, long at) {
  unsigned x = (unsigned)call * 2654435761u ^ (unsigned)from * 40503u ^ (unsigned)to * 7919u ^ (unsigned)at * 31u;
  return (unsigned char)(x ^ (x >> 11));
}
static void fill(unsigned char* p, long n, int call, int from, int to) {
  for (long i = 0; i < n; ++i) p[i] = byte_of(call, from, to, i);
}
static void expect(const unsigned char* p, long n, int call, int from, int to) {
  for (long i = 0; i < n; ++i) wrong += p[i] != byte_of(call, from, to, i);
}
/* The same on every rank. */
static unsigned next_random(unsigned* state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

static void vectors(unsigned* state, int longest) {
  int at = 0;
  for (int i = 0; i < size; ++i) {
    counts[i] = next_random(state) % 3 == 0 ? 0 : (int)(next_random(state) % (unsigned)(longest + 1));
    displs[i] = at;
    at += counts[i];
  }
}

/* One operation: what all ranks know of it. */
struct operation {
  int call, bytes, root, block;
  unsigned* state;
};

static void bcast(const struct operation* op) {
  if (rank == op->root) fill(out, op->bytes, op->call, op->root, 0);
  MPI_Bcast(out, op->bytes, MPI_BYTE, op->root, MPI_COMM_WORLD);
  expect(out, op->bytes, op->call, op->root, 0);
}

/* The root first receives a long message that its sender keeps under way while it waits for the bcast. */
static void bcast_behind_a_message(const struct operation* op) {
  static unsigned char message[1 << 20];
  const int sender = (op->root + 1) % size;
  MPI_Request sending = MPI_REQUEST_NULL;
  if (rank == sender) {
    fill(message, sizeof message, op->call, sender, op->root);
    MPI_Isend(message, sizeof message, MPI_BYTE, op->root, 0, MPI_COMM_WORLD, &sending);
  } else if (rank == op->root) {
    MPI_Recv(message, sizeof message, MPI_BYTE, sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(message, sizeof message, op->call, sender, op->root);
    fill(out, op->bytes, op->call, op->root, 0);
  }
  MPI_Bcast(out, op->bytes, MPI_BYTE, op->root, MPI_COMM_WORLD);
  expect(out, op->bytes, op->call, op->root, 0);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
}

/* The root first waits for a nonblocking allreduce that the others complete after the bcast. */
static void bcast_behind_an_allreduce(const struct operation* op) {
  static long mine[1 << 15], sum[1 << 15];
  const int n = sizeof sum / sizeof *sum;
  MPI_Request summing;
  for (int i = 0; i < n; ++i) mine[i] = rank + i + op->call;
  MPI_Iallreduce(mine, sum, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &summing);
  if (rank == op->root) {
    MPI_Wait(&summing, MPI_STATUS_IGNORE);
    fill(out, op->bytes, op->call, op->root, 0);
  }
  MPI_Bcast(out, op->bytes, MPI_BYTE, op->root, MPI_COMM_WORLD);
  expect(out, op->bytes, op->call, op->root, 0);
  if (rank != op->root) MPI_Wait(&summing, MPI_STATUS_IGNORE);
  for (int i = 0; i < n; ++i) wrong += sum[i] != size * (size - 1L) / 2 + (long)size * (i + op->call);
}

static void scatter(const struct operation* op) {
  for (int i = 0; i < size && rank == op->root; ++i) fill(in + (long)i * op->block, op->block, op->call, op->root, i);
  MPI_Scatter(in, op->block, MPI_BYTE, out, op->block, MPI_BYTE, op->root, MPI_COMM_WORLD);
  expect(out, op->block, op->call, op->root, rank);
}

static void scatterv(const struct operation* op) {
  vectors(op->state, op->block);
  for (int i = 0; i < size && rank == op->root; ++i) fill(in + displs[i], counts[i], op->call, op->root, i);
  MPI_Scatterv(in, counts, displs, MPI_BYTE, out, counts[rank], MPI_BYTE, op->root, MPI_COMM_WORLD);
  expect(out, counts[rank], op->call, op->root, rank);
}

static void allgather(const struct operation* op) {
  fill(in, op->block, op->call, rank, 0);
  MPI_Allgather(in, op->block, MPI_BYTE, out, op->block, MPI_BYTE, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) expect(out + (long)i * op->block, op->block, op->call, i, 0);
}

static void allgatherv(const struct operation* op) {
  vectors(op->state, op->block);
  fill(in, counts[rank], op->call, rank, 0);
  MPI_Allgatherv(in, counts[rank], MPI_BYTE, out, counts, displs, MPI_BYTE, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) expect(out + displs[i], counts[i], op->call, i, 0);
}

/* An allreduce, or a reduce_scatter_block. */
static void reduction(const struct operation* op, int to_all) {
  const int n = 1 + op->block / 8;
  long* const a = (long*)in;
  long* const b = (long*)out;
  const int all = to_all ? n : n * size;
  for (int i = 0; i < all; ++i) a[i] = (long)op->call * 1000003 + (long)rank * 17 + i;
  if (to_all) MPI_Allreduce(a, b, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  else MPI_Reduce_scatter_block(a, b, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  const int first = to_all ? 0 : rank * n;
  for (int i = 0; i < n; ++i) {
    wrong += b[i] != (long)size * ((long)op->call * 1000003 + first + i) + 17L * size * (size - 1) / 2;
  }
}

static void one(char what, int call, unsigned* state, int longest) {
  struct operation op = {.call = call, .state = state};
  op.bytes = 1 + (int)(next_random(state) % (unsigned)longest);
  op.root = (int)(next_random(state) % (unsigned)size);
  op.block = 1 + op.bytes / size;
  memset(out, 0xee, (size_t)longest * (size_t)size);
  switch (what) {
    case 'b': bcast(&op); break;
    case 'w': bcast_behind_a_message(&op); break;
    case 'n': bcast_behind_an_allreduce(&op); break;
    case 's': scatter(&op); break;
    case 'v': scatterv(&op); break;
    case 'a': allgather(&op); break;
    case 'A': allgatherv(&op); break;
    case 'm': reduction(&op, 1); break;
    case 'r': reduction(&op, 0); break;
    default: MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void die(int number) {
  (void)number;
  raise(SIGKILL);
}

int main(int argc, char** argv) {
  const int operations = argc > 1 ? atoi(argv[1]) : 100;
  const int longest = argc > 2 ? atoi(argv[2]) : 20000;
  const char* const which = argc > 3 ? argv[3] : "bsvaAmrk";
  const long dies_after_ms = argc > 4 ? atol(argv[4]) : 0;
  unsigned state = 7;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  in = calloc((size_t)size + 1, (size_t)longest + 64);
  out = calloc((size_t)size + 1, (size_t)longest + 64);
  counts = calloc((size_t)size, sizeof *counts);
  displs = calloc((size_t)size, sizeof *displs);
  MPI_Barrier(MPI_COMM_WORLD);
  if (dies_after_ms > 0 && rank == size - 1) {
    const struct itimerval after = {{0, 0}, {dies_after_ms / 1000, dies_after_ms % 1000 * 1000}};
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &after, NULL);
  }
  const double began = MPI_Wtime();
  for (int call = 0; call < operations; ++call) one(which[call % (int)strlen(which)], call, &state, longest);
  const double seconds = MPI_Wtime() - began;
  long all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("operations %d wrong %ld ms_each %.4f\n", operations, all, 1e3 * seconds / operations);
  MPI_Finalize();
  return all != 0;
}
