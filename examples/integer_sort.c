// SPDX-License-Identifier: Apache-2.0
/* Parallel bucket sort of integers. Plain MPI; it knows nothing of Antiphon.
 *
 * Each round: count the own keys by bucket, add the counts up over all ranks (Allreduce), give each rank a run of
 * buckets with about the same number of keys, tell everybody how many keys to expect (Alltoall), send the keys
 * (Alltoallv) and rank those received. Keys are the mean of four uniform numbers, so that buckets are uneven.
 * Afterwards the keys are sorted and checked: in order within and between ranks, and none lost or changed.
 *
 *   mpirun -n 16 ./integer_sort [S|W|A|B] [rounds]
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

enum { max_buckets = 1024 };

typedef struct {
  const char* name;
  int log2_keys, log2_max_key;
} Class;

static const Class classes[] = {{"S", 16, 11}, {"W", 20, 16}, {"A", 23, 19}, {"B", 25, 21}};

typedef struct {
  double count_s, allreduce_s, alltoall_s, alltoallv_s, rank_s;
} Phases;

typedef struct {
  int rank, size, max_key, buckets, bucket_shift;
  int own;      /* keys that began here */
  int received; /* keys that are here after the exchange */
  int capacity; /* of `incoming` */
  int low_key;  /* smallest key of this rank's part */
  int range;    /* number of different keys in it */
  int *keys, *outgoing, *incoming, *population;
  int *send_counts, *send_offsets, *recv_counts, *recv_offsets;
  int bucket_sizes[max_buckets], all_sizes[max_buckets], owner[max_buckets], first_of[max_buckets];
} Sort;

static void make_keys(Sort* s, int64_t total) {
  const int64_t first = total * s->rank / s->size;
  s->own = (int)(total * (s->rank + 1) / s->size - first);
  s->keys = allocate(sizeof(int) * (size_t)s->own);
  s->outgoing = allocate(sizeof(int) * (size_t)s->own);
  for (int i = 0; i < s->own; ++i) {
    const uint64_t bits = scramble((uint64_t)(first + i));
    const uint64_t sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
    s->keys[i] = (int)(sum * (uint64_t)s->max_key >> 18);
  }
}

static void set_up(Sort* s, const Class* class) {
  MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s->size);
  s->max_key = 1 << class->log2_max_key;
  s->buckets = s->max_key < max_buckets ? s->max_key : max_buckets;
  for (s->bucket_shift = 0; s->max_key >> s->bucket_shift > s->buckets;) ++s->bucket_shift;
  make_keys(s, (int64_t)1 << class->log2_keys);
  int** const arrays[] = {&s->send_counts, &s->send_offsets, &s->recv_counts, &s->recv_offsets};
  for (int i = 0; i < 4; ++i) *arrays[i] = allocate(sizeof(int) * (size_t)s->size);
}

/* Local work before the exchange: computes bucket sizes, and sorts the keys by bucket. */
static void count_by_bucket(Sort* s) {
  memset(s->bucket_sizes, 0, sizeof s->bucket_sizes);
  for (int i = 0; i < s->own; ++i) ++s->bucket_sizes[s->keys[i] >> s->bucket_shift];
  int place[max_buckets];
  for (int b = 0, sum = 0; b < s->buckets; ++b) {
    place[b] = s->first_of[b] = sum;
    sum += s->bucket_sizes[b];
  }
  for (int i = 0; i < s->own; ++i) s->outgoing[place[s->keys[i] >> s->bucket_shift]++] = s->keys[i];
}

/* Assigns runs of buckets to ranks. All ranks decide alike from the sums. */
static void share_out(Sort* s, int64_t total) {
  int64_t before = 0;
  int first = s->buckets, last = -1;
  memset(s->send_counts, 0, sizeof(int) * (size_t)s->size);
  for (int b = 0; b < s->buckets; ++b) {
    const int64_t middle = before + s->all_sizes[b] / 2;
    s->owner[b] = (int)(middle * s->size / total);
    before += s->all_sizes[b];
    s->send_counts[s->owner[b]] += s->bucket_sizes[b];
    if (s->owner[b] == s->rank) {
      if (first == s->buckets) first = b;
      last = b;
    }
  }
  s->low_key = first << s->bucket_shift;
  s->range = last < first ? 0 : (last - first + 1) << s->bucket_shift;
}

static int offsets(const int* counts, int* places, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    places[i] = sum;
    sum += counts[i];
  }
  return sum;
}

static void make_room(Sort* s) {
  if (s->received > s->capacity) {
    free(s->incoming);
    s->capacity = s->received + s->received / 8;
    s->incoming = allocate(sizeof(int) * (size_t)s->capacity);
  }
  free(s->population);
  s->population = allocate(sizeof(int) * (size_t)s->range);
}

/* Counts for each key how many keys here are not above it; a key's position in the order follows from that. */
static void rank_keys(Sort* s) {
  memset(s->population, 0, sizeof(int) * (size_t)s->range);
  for (int i = 0; i < s->received; ++i) ++s->population[s->incoming[i] - s->low_key];
  for (int k = 1; k < s->range; ++k) s->population[k] += s->population[k - 1];
}

static void one_round(Sort* s, int round, int64_t total, Phases* p) {
  if (s->own > 2) { /* each round has its own problem */
    s->keys[round % s->own] = round % s->max_key;
    s->keys[(round + s->own / 2) % s->own] = s->max_key - 1 - round % s->max_key;
  }
  double t = MPI_Wtime(), now;
  count_by_bucket(s);
  now = MPI_Wtime(), p->count_s += now - t, t = now;
  MPI_Allreduce(s->bucket_sizes, s->all_sizes, s->buckets, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  now = MPI_Wtime(), p->allreduce_s += now - t, t = now;
  share_out(s, total);
  MPI_Alltoall(s->send_counts, 1, MPI_INT, s->recv_counts, 1, MPI_INT, MPI_COMM_WORLD);
  now = MPI_Wtime(), p->alltoall_s += now - t, t = now;
  offsets(s->send_counts, s->send_offsets, s->size);
  s->received = offsets(s->recv_counts, s->recv_offsets, s->size);
  make_room(s);
  MPI_Alltoallv(s->outgoing, s->send_counts, s->send_offsets, MPI_INT, s->incoming, s->recv_counts, s->recv_offsets,
                MPI_INT, MPI_COMM_WORLD);
  now = MPI_Wtime(), p->alltoallv_s += now - t, t = now;
  rank_keys(s);
  p->rank_s += MPI_Wtime() - t;
}

/* Sorts by the ranks found, and checks the order here and towards the next rank, and that the keys are those of the
 * input. */
static int verify(const Sort* s, int64_t total) {
  int* sorted = allocate(sizeof(int) * (size_t)s->received);
  int* place = allocate(sizeof(int) * (size_t)s->range);
  memcpy(place, s->population, sizeof(int) * (size_t)s->range);
  int64_t wrong = 0;
  for (int i = 0; i < s->received; ++i) sorted[--place[s->incoming[i] - s->low_key]] = s->incoming[i];
  for (int i = 1; i < s->received; ++i) wrong += sorted[i - 1] > sorted[i];
  int largest = s->received > 0 ? sorted[s->received - 1] : -1, before = -1;
  MPI_Exscan(&largest, &before, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (s->rank > 0 && s->received > 0) wrong += before > sorted[0];
  /* A sum of scrambled keys changes when any key does, but not when keys are reordered. */
  uint64_t mine[4] = {0, 0, 0, (uint64_t)wrong}, all[4];
  for (int i = 0; i < s->own; ++i) mine[0] += scramble((uint64_t)s->keys[i]);
  for (int i = 0; i < s->received; ++i) mine[1] += scramble((uint64_t)sorted[i]);
  mine[2] = (uint64_t)s->received;
  MPI_Allreduce(mine, all, 4, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  free(sorted);
  free(place);
  return all[0] == all[1] && all[2] == (uint64_t)total && all[3] == 0;
}

static void report(const Sort* s, const Class* class, int rounds, double time_s, const Phases* own, int right) {
  Phases p;
  MPI_Reduce(own, &p, sizeof p / sizeof(double), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (s->rank != 0) return;
  for (double* phase = &p.count_s; phase <= &p.rank_s; ++phase) *phase /= s->size;
  const double block = 4.0 * (double)((int64_t)1 << class->log2_keys) / s->size / s->size;
  printf("integer_sort class %s: %d rounds of %d keys up to %d on %d ranks\n", class->name, rounds,
         1 << class->log2_keys, s->max_key - 1, s->size);
  printf("phases (mean over ranks): count %.4f s, allreduce %.4f s, alltoall %.4f s, alltoallv %.4f s, rank %.4f s\n",
         p.count_s, p.allreduce_s, p.alltoall_s, p.alltoallv_s, p.rank_s);
  printf("traffic: %d x allreduce %d B, %d x alltoall 4 B, %d x alltoallv %.0f B\n", rounds, 4 * s->buckets, rounds,
         rounds, block);
  printf("time: %.6f s\n", time_s);
  printf("result: %s\n", right ? "verified" : "WRONG");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Class* class = &classes[0];
  for (size_t i = 0; argc > 1 && i < sizeof classes / sizeof *classes; ++i) {
    if (strcmp(argv[1], classes[i].name) == 0) class = &classes[i];
  }
  const int rounds = argc > 2 ? atoi(argv[2]) : 10;
  static Sort s;
  set_up(&s, class);
  if ((argc > 1 && strcmp(argv[1], class->name) != 0) || rounds < 1) {
    if (s.rank == 0) fprintf(stderr, "usage: integer_sort [S|W|A|B] [rounds]\n");
    MPI_Finalize();
    return 2;
  }
  const int64_t total = (int64_t)1 << class->log2_keys;
  Phases phases = {0};
  one_round(&s, 0, total, &phases); /* makes connections and touches pages */
  memset(&phases, 0, sizeof phases);
  MPI_Barrier(MPI_COMM_WORLD);
  double time_s = MPI_Wtime();
  for (int round = 1; round <= rounds; ++round) one_round(&s, round, total, &phases);
  time_s = MPI_Wtime() - time_s;
  MPI_Allreduce(MPI_IN_PLACE, &time_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const int right = verify(&s, total);
  report(&s, class, rounds, time_s, &phases, right);
  MPI_Finalize();
  return right ? 0 : 1;
}
