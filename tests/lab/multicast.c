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

static void one(char what, int call, unsigned* state, int longest) {
  const int bytes = 1 + (int)(next_random(state) % (unsigned)longest);
  const int root = (int)(next_random(state) % (unsigned)size);
  const int block = 1 + bytes / size;
  memset(out, 0xee, (size_t)longest * (size_t)size);
  switch (what) {
    case 'b':
      if (rank == root) fill(out, bytes, call, root, 0);
      MPI_Bcast(out, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
      expect(out, bytes, call, root, 0);
      break;
    case 'w': {
      static unsigned char message[1 << 20];
      const int sender = (root + 1) % size;
      MPI_Request sending = MPI_REQUEST_NULL;
      if (rank == sender) {
        fill(message, sizeof message, call, sender, root);
        MPI_Isend(message, sizeof message, MPI_BYTE, root, 0, MPI_COMM_WORLD, &sending);
      } else if (rank == root) {
        MPI_Recv(message, sizeof message, MPI_BYTE, sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(message, sizeof message, call, sender, root);
        fill(out, bytes, call, root, 0);
      }
      MPI_Bcast(out, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
      expect(out, bytes, call, root, 0);
      MPI_Wait(&sending, MPI_STATUS_IGNORE);
      break;
    }
    case 'n': {
      static long mine[1 << 15], sum[1 << 15];
      const int n = sizeof sum / sizeof *sum;
      MPI_Request summing;
      for (int i = 0; i < n; ++i) mine[i] = rank + i + call;
      MPI_Iallreduce(mine, sum, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &summing);
      if (rank == root) {
        MPI_Wait(&summing, MPI_STATUS_IGNORE);
        fill(out, bytes, call, root, 0);
      }
      MPI_Bcast(out, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
      expect(out, bytes, call, root, 0);
      if (rank != root) MPI_Wait(&summing, MPI_STATUS_IGNORE);
      for (int i = 0; i < n; ++i) wrong += sum[i] != size * (size - 1L) / 2 + (long)size * (i + call);
      break;
    }
    case 's':
      for (int i = 0; i < size && rank == root; ++i) fill(in + (long)i * block, block, call, root, i);
      MPI_Scatter(in, block, MPI_BYTE, out, block, MPI_BYTE, root, MPI_COMM_WORLD);
      expect(out, block, call, root, rank);
      break;
    case 'v':
      vectors(state, block);
      for (int i = 0; i < size && rank == root; ++i) fill(in + displs[i], counts[i], call, root, i);
      MPI_Scatterv(in, counts, displs, MPI_BYTE, out, counts[rank], MPI_BYTE, root, MPI_COMM_WORLD);
      expect(out, counts[rank], call, root, rank);
      break;
    case 'a':
      fill(in, block, call, rank, 0);
      MPI_Allgather(in, block, MPI_BYTE, out, block, MPI_BYTE, MPI_COMM_WORLD);
      for (int i = 0; i < size; ++i) expect(out + (long)i * block, block, call, i, 0);
      break;
    case 'A':
      vectors(state, block);
      fill(in, counts[rank], call, rank, 0);
      MPI_Allgatherv(in, counts[rank], MPI_BYTE, out, counts, displs, MPI_BYTE, MPI_COMM_WORLD);
      for (int i = 0; i < size; ++i) expect(out + displs[i], counts[i], call, i, 0);
      break;
    case 'm':
    case 'r': {
      const int n = 1 + block / 8;
      long* const a = (long*)in;
      long* const b = (long*)out;
      const int all = what == 'm' ? n : n * size;
      for (int i = 0; i < all; ++i) a[i] = (long)call * 1000003 + (long)rank * 17 + i;
      if (what == 'm') MPI_Allreduce(a, b, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
      else MPI_Reduce_scatter_block(a, b, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
      const int first = what == 'm' ? 0 : rank * n;
      for (int i = 0; i < n; ++i) {
        wrong += b[i] != (long)size * ((long)call * 1000003 + first + i) + 17L * size * (size - 1) / 2;
      }
      break;
    }
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
