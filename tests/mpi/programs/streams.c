/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of MPI_Alltoallv calls whose counts are equal, nearly equal, growing, in turns, or change. Checks every byte,
 * and that all ranks say that the call used the same.
 *
 *   streams BYTES CALLS ROUNDS WAY[,WAY…] STREAM…
 *
 * BYTES is the mean message. A WAY is antiphon, library, or what antiphon_force takes; each has a new communicator in
 * each round, and they take turns. A STREAM is BASE:KIND: even, uneven or skewed; equal, key (a few counts differ from
 * call to call by 4 bytes, as in NAS IS), little (by 3 %), growing (by 5 %), new (another one each time), turns (two by
 * turns), or a number: the call from which on the counts are those of the next base.
 * Prints a line of JSON for each stream, way and round: the time of the slowest rank in each call, after a barrier, and
 * the bytes of the busiest rank.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "antiphon.h"

enum { most_ranks = 128, most_calls = 1000, text_bytes = 128 };

static int rank, size, mean, wrong;
static MPI_Comm control; /* without Antiphon */
static int counts[most_ranks * most_ranks];
static double seconds[most_calls];
static long limit_bytes[most_calls];
static char used[most_calls][text_bytes];

static uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9E3779B97F4A7C15u + b * 0xBF58476D1CE4E5B9u + 1;
  for (int i = 0; i < 3; ++i) x = (x ^ (x >> 31)) * 0xD6E8FEB86659FD93u;
  return x ^ (x >> 32);
}

/* Even: 3 % more or less. Uneven: any size up to twice the mean. Skewed: the first ranks have most. */
static int base_bytes(int base, uint64_t seed, int from, int to) {
  uint64_t random = mix(seed, (uint64_t)(from * size + to));
  if (base == 0) return mean / 100 * (97 + (int)(random % 7)) / 4 * 4;
  if (base == 1) return (int)(random % (uint64_t)(2 * mean + 1));
  return 6 * mean / (1 + from + to);
}

static void make_counts(int base, const char* kind, int call) {
  int change = atoi(kind);
  uint64_t seed = strcmp(kind, "new") == 0 ? (uint64_t)call : 1;
  if (strcmp(kind, "turns") == 0) base = (base + call) % 2 == 0 ? 0 : 1;
  if (change > 0 && call >= change) base = (base + 1) % 3;
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      int* bytes = &counts[from * size + to];
      *bytes = base_bytes(base, seed, from, to);
      if (strcmp(kind, "little") == 0)
        *bytes = *bytes / 100 * (97 + (int)(mix((uint64_t)call, (uint64_t)(from * size + to)) % 7));
      for (int i = 1; strcmp(kind, "growing") == 0 && i < call; ++i) *bytes += *bytes / 20;
    }
  }
  for (int i = 0; strcmp(kind, "key") == 0 && call > 2 && i < 4; ++i)
    counts[mix((uint64_t)call, (uint64_t)i) % (uint64_t)(size * size)] += i % 2 == 0 ? 4 : 8;
}

static long busiest(void) {
  long most = 0;
  for (int i = 0; i < size; ++i) {
    long out = 0, in = 0;
    for (int k = 0; k < size; ++k) {
      if (k == i) continue;
      out += counts[i * size + k], in += counts[k * size + i];
    }
    if (out > most) most = out;
    if (in > most) most = in;
  }
  return most;
}

static unsigned char byte_of(int from, int to, int i, int call) {
  return (unsigned char)(from * 7 + to * 31 + i + (i >> 8) + call);
}

static void exchange(MPI_Comm comm, int call) {
  int out[most_ranks], out_at[most_ranks], in[most_ranks], in_at[most_ranks], out_end = 0, in_end = 0;
  for (int i = 0; i < size; ++i) {
    out_at[i] = out_end, out_end += out[i] = counts[rank * size + i];
    in_at[i] = in_end, in_end += in[i] = counts[i * size + rank];
  }
  unsigned char* sent = malloc((size_t)out_end + 1);
  unsigned char* received = calloc((size_t)in_end + 1, 1);
  for (int i = 0; i < size; ++i)
    for (int k = 0; k < out[i]; ++k) sent[out_at[i] + k] = byte_of(rank, i, k, call);
  MPI_Barrier(control);
  double took = -MPI_Wtime();
  MPI_Alltoallv(sent, out, out_at, MPI_BYTE, received, in, in_at, MPI_BYTE, comm);
  took += MPI_Wtime();
  MPI_Allreduce(&took, &seconds[call], 1, MPI_DOUBLE, MPI_MAX, control);
  for (int i = 0; i < size; ++i)
    for (int k = 0; k < in[i]; ++k) wrong += received[in_at[i] + k] != byte_of(i, rank, k, call);
  free(sent);
  free(received);
}

/* Notes what rank 0 says the call used, and complains if this rank says something else. */
static void compare_used(MPI_Comm comm, const char* stream, int call) {
  char own[text_bytes] = "library";
  antiphon_chosen(comm, "alltoallv", own, sizeof own);
  memcpy(used[call], own, sizeof own);
  MPI_Bcast(used[call], sizeof own, MPI_CHAR, 0, control);
  if (strcmp(own, used[call]) == 0) return;
  printf("%s, call %d: rank %d used \"%s\", rank 0 \"%s\"\n", stream, call, rank, own, used[call]);
  ++wrong;
}

static void run_stream(const char* stream, const char* way, int calls, int round) {
  const char* kind = strchr(stream, ':');
  int base = strncmp(stream, "even", 4) == 0 ? 0 : strncmp(stream, "uneven", 6) == 0 ? 1 : 2;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (strcmp(way, "library") == 0) antiphon_enable(comm, "alltoallv", 0);
  else if (strcmp(way, "antiphon") != 0) antiphon_force(comm, "alltoallv", way);
  for (int call = 1; call <= calls; ++call) {
    make_counts(base, kind == NULL ? "equal" : kind + 1, call);
    limit_bytes[call] = busiest();
    exchange(comm, call);
    compare_used(comm, stream, call);
  }
  MPI_Comm_free(&comm);
  if (rank != 0) return;
  printf("{\"stream\": \"%s\", \"way\": \"%s\", \"round\": %d", stream, way, round);
  printf(", \"seconds\": [");
  for (int call = 1; call <= calls; ++call) printf("%s%.6f", call > 1 ? ", " : "", seconds[call]);
  printf("], \"limit_bytes\": [");
  for (int call = 1; call <= calls; ++call) printf("%s%ld", call > 1 ? ", " : "", limit_bytes[call]);
  printf("], \"used\": [");
  for (int call = 1; call <= calls; ++call) printf("%s\"%s\"", call > 1 ? ", " : "", used[call]);
  printf("]}\n");
  fflush(stdout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &control);
  antiphon_enable(control, NULL, 0);
  int calls = argc > 2 ? atoi(argv[2]) : 0, rounds = argc > 3 ? atoi(argv[3]) : 0;
  if (argc < 6 || size > most_ranks || calls < 1 || calls >= most_calls || rounds < 1) {
    if (rank == 0)
      fprintf(stderr, "usage: streams BYTES CALLS ROUNDS WAY[,WAY...] STREAM..., at most %d ranks\n", most_ranks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  mean = atoi(argv[1]);
  for (int i = 5; i < argc; ++i) {
    for (int round = 0; round < rounds; ++round) {
      char ways[256];
      snprintf(ways, sizeof ways, "%s", argv[4]);
      for (char* way = strtok(ways, ","); way != NULL; way = strtok(NULL, ",")) run_stream(argv[i], way, calls, round);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, control);
  if (rank == 0) printf("%s\n", wrong == 0 ? "fine" : "wrong");
  MPI_Comm_free(&control);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
