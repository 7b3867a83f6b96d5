/* SPDX-License-Identifier: Apache-2.0 */
/* Alltoallv and Alltoallw with patterns that are hard for protocols, repeated, and changed on some ranks only:
 * patterns [calls [nonblocking]]. Prints "fine" on rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 9, MOST = 64 };
static int rank, size, wrong, nonblocking;
static int out[MOST], in[MOST], to[MOST], from[MOST];

/* Bytes from one rank to another; `turn` changes some patterns. */
static int bytes(int kind, int source, int target, int turn) {
  unsigned mix = (unsigned)(source * 7919 + target * 104729 + kind * 31);
  switch (kind) {
    case 0: return 1 + (int)(mix % 50);                              /* short */
    case 1: return 20000;                                            /* uniform */
    case 2: return target < 2 ? 300000 : 0;                          /* hot spots, and many zero rows of receives */
    case 3: return source == 0 ? 150000 : 0;                         /* one rank sends to all; the others to nobody */
    case 4: return (target - source + size) % size <= 1 ? 70001 : 0; /* banded, and to oneself */
    case 5: return mix % 3 == 0 ? (int)(mix % 100003) : (int)(mix % 3) * 100;             /* random, short and long */
    case 6: return source == target ? 50000 : 0;                                          /* only to oneself */
    case 7: return (source + turn) % 3 == 0 && target == size - 1 ? 40000 + turn : 16384; /* changes on some ranks */
    default: return 0;                                                                    /* nothing */
  }
}

static unsigned char content(int source, int target, int i) {
  return (unsigned char)(source * 31 + target * 7 + i * 13 + i / 256);
}

static void check(const char* what, int kind, const unsigned char* got) {
  for (int s = 0; s < size; s++) {
    for (int i = 0; i < in[s]; i++) {
      if (got[from[s] + i] == content(s, rank, i)) continue;
      if (wrong++ < 3) printf("wrong: %s pattern %d rank %d from %d byte %d\n", what, kind, rank, s, i);
      return;
    }
    if (got[from[s] + in[s]] != 0xA5 && wrong++ < 3)
      printf("wrong: %s pattern %d rank %d writes behind %d's block\n", what, kind, rank, s);
  }
}

static void layout(int kind, int turn, int* send_total, int* recv_total) {
  *send_total = *recv_total = 0;
  for (int r = size - 1; r >= 0; r--) { /* backwards, with a byte between blocks */
    out[r] = bytes(kind, rank, r, turn);
    in[r] = bytes(kind, r, rank, turn);
    to[r] = *send_total;
    from[r] = *recv_total;
    *send_total += out[r] + 1;
    *recv_total += in[r] + 1;
  }
}

static void exchange(int kind, int turn, int with_w) {
  int send_total, recv_total;
  MPI_Request request = MPI_REQUEST_NULL;
  layout(kind, turn, &send_total, &recv_total);
  unsigned char* s = malloc((size_t)send_total);
  unsigned char* r = malloc((size_t)recv_total);
  memset(r, 0xA5, (size_t)recv_total);
  for (int t = 0; t < size; t++)
    for (int i = 0; i < out[t]; i++) s[to[t] + i] = content(rank, t, i);
  if (!with_w && nonblocking) {
    MPI_Ialltoallv(s, out, to, MPI_BYTE, r, in, from, MPI_BYTE, MPI_COMM_WORLD, &request);
  } else if (!with_w) {
    MPI_Alltoallv(s, out, to, MPI_BYTE, r, in, from, MPI_BYTE, MPI_COMM_WORLD);
  } else {
    MPI_Datatype st[MOST], rt[MOST];
    for (int t = 0; t < size; t++) {
      st[t] = t % 2 ? MPI_BYTE : MPI_CHAR;
      rt[t] = rank % 2 ? MPI_BYTE : MPI_CHAR;
    }
    if (nonblocking) MPI_Ialltoallw(s, out, to, st, r, in, from, rt, MPI_COMM_WORLD, &request);
    else MPI_Alltoallw(s, out, to, st, r, in, from, rt, MPI_COMM_WORLD);
    if (nonblocking) MPI_Wait(&request, MPI_STATUS_IGNORE); /* before the types are gone */
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(with_w ? "alltoallw" : "alltoallv", kind, r);
  free(s);
  free(r);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int calls = argc > 1 ? atoi(argv[1]) : 6;
  nonblocking = argc > 2;
  for (int kind = 0; kind < KINDS; kind++)
    for (int turn = 0; turn < calls; turn++) exchange(kind, turn, 0);
  for (int kind = 0; kind < KINDS; kind++) exchange(kind, 0, 1);
  /* All kinds take turns, so that no two calls in a row are alike. */
  for (int turn = 0; turn < 3 * KINDS; turn++) exchange(turn * 4 % KINDS, turn, 0);
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) puts(all == 0 ? "fine" : "not fine");
  MPI_Finalize();
  return all != 0;
}
