/* SPDX-License-Identifier: Apache-2.0 */
/* crossing MODE: on pairs of communicators, ranks with an even number come to the first one's call first, and the
 * others to the second one's; prints "verified" if all end and the results are right.
 *
 *   blocking   a nonblocking exchange on the first, a blocking gathering on the second
 *   duplicate  the same, and the second call duplicates its communicator
 *   idup       the first call duplicates its communicator without waiting
 *   threads    both calls block; ranks with an even number have a thread for each */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "verdict.h"

enum { pairs = 24, count = 16384, most_ranks = 8, late_us = 5000 };

static int rank, size;
static _Atomic int wrong;
static const char* mode;
static MPI_Comm first[pairs], second[pairs];

static int is(const char* name) { return strcmp(mode, name) == 0; }

static int value(int from, int to, int pair) { return 1000 * pair + 10 * from + to; }

typedef struct {
  int pair;
  MPI_Comm made;
  MPI_Request request;
  int sent[most_ranks * count], got[most_ranks * count];
} Call;

static void start_first(Call* c) {
  c->request = MPI_REQUEST_NULL;
  if (is("idup")) {
    MPI_Comm_idup(first[c->pair], &c->made, &c->request);
    return;
  }
  for (int i = 0; i < size * count; i++) c->sent[i] = value(rank, i / count, c->pair);
  if (is("threads")) MPI_Alltoall(c->sent, count, MPI_INT, c->got, count, MPI_INT, first[c->pair]);
  else MPI_Ialltoall(c->sent, count, MPI_INT, c->got, count, MPI_INT, first[c->pair], &c->request);
}

static void end_first(Call* c) {
  MPI_Wait(&c->request, MPI_STATUS_IGNORE);
  if (is("idup")) {
    MPI_Comm_free(&c->made);
    return;
  }
  for (int i = 0; i < size * count; i++) wrong += c->got[i] != value(i / count, rank, c->pair);
}

static void* do_second(void* call) {
  Call* const c = call;
  if (is("duplicate")) {
    MPI_Comm_dup(second[c->pair], &c->made);
    MPI_Comm_free(&c->made);
    return NULL;
  }
  for (int i = 0; i < count; i++) c->sent[i] = value(rank, i, c->pair);
  MPI_Allgather(c->sent, count, MPI_INT, c->got, count, MPI_INT, second[c->pair]);
  for (int i = 0; i < size * count; i++) wrong += c->got[i] != value(i / count, i % count, c->pair);
  return NULL;
}

static void cross(int pair) {
  static Call one, other;
  one.pair = other.pair = pair;
  pthread_t thread;
  if (rank % 2 != 0) {
    usleep(late_us);
    do_second(&other);
    start_first(&one);
  } else if (is("threads")) {
    pthread_create(&thread, NULL, do_second, &other);
    start_first(&one);
    pthread_join(thread, NULL);
  } else {
    start_first(&one);
    do_second(&other);
  }
  end_first(&one);
}

int main(int argc, char** argv) {
  int level;
  mode = argv[1];
  MPI_Init_thread(&argc, &argv, is("threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int p = 0; p < pairs; p++) {
    MPI_Comm_dup(MPI_COMM_WORLD, &first[p]);
    MPI_Comm_dup(MPI_COMM_WORLD, &second[p]);
  }
  for (int p = 0; p < pairs; p++) cross(p);
  for (int p = 0; p < pairs; p++) {
    MPI_Comm_free(&first[p]);
    MPI_Comm_free(&second[p]);
  }
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
