/* SPDX-License-Identifier: Apache-2.0 */
/* outstanding MODE: nonblocking collectives that are under way together; prints "verified" if all results are right.
 *
 *   many       32 on 8 communicators, completed in another order on each rank, beside messages and blocking collectives
 *   threads    the same from 4 threads, each with its own 8
 *   cross      ranks wait inside the library, in collectives of another communicator, for a rank that waits for an
 *              operation which those ranks have started
 *   lifetimes  communicators, datatypes and operations are freed while calls that use them are under way, or between
 *              starts of a persistent one; counts that only a root knows
 *   counts     an exchange whose schedule takes all counts, then calls with counts that only a root knows
 *   late       one rank starts late and after messages that it needs from the others */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verdict.h"

enum { comms = 8, each = 4, under_way = comms * each, threads = 4, most_ranks = 16, block = 700 };

static int rank, size;
static _Atomic long wrong;

typedef struct {
  int kind, root, number;
  int sent[most_ranks * block], got[most_ranks * block];
} Operation;

static int value(int kind, int from, int to, int number, int i) {
  return (kind * 31 + from * 17 + to * 7 + number) * 11 + i % 101;
}

static void start(Operation* o, int kind, int number, MPI_Comm comm, MPI_Request* request) {
  o->kind = kind % 6;
  o->number = number;
  o->root = number % size;
  for (int to = 0; to < size; to++)
    for (int i = 0; i < block; i++) o->sent[to * block + i] = value(o->kind, rank, to, number, i);
  memset(o->got, 0, sizeof o->got);
  switch (o->kind) {
    case 0:
      if (rank == o->root) memcpy(o->got, o->sent, block * sizeof(int));
      MPI_Ibcast(o->got, block, MPI_INT, o->root, comm, request);
      break;
    case 1: MPI_Iallreduce(o->sent, o->got, block, MPI_INT, MPI_SUM, comm, request); break;
    case 2: MPI_Ialltoall(o->sent, block, MPI_INT, o->got, block, MPI_INT, comm, request); break;
    case 3: MPI_Iallgather(o->sent, block, MPI_INT, o->got, block, MPI_INT, comm, request); break;
    case 4: MPI_Ibarrier(comm, request); break;
    default: MPI_Ireduce_scatter_block(o->sent, o->got, block, MPI_INT, MPI_SUM, comm, request);
  }
}

static void judge(const Operation* o) {
  for (int from = 0; from < size; from++) {
    for (int i = 0; i < block; i++) {
      int sum_to_0 = 0, sum_to_me = 0;
      for (int r = 0; r < size; r++) {
        sum_to_0 += value(o->kind, r, 0, o->number, i);
        sum_to_me += value(o->kind, r, rank, o->number, i);
      }
      switch (o->kind) {
        case 0: wrong += o->got[i] != value(0, o->root, 0, o->number, i); break;
        case 1: wrong += o->got[i] != sum_to_0; break;
        case 2: wrong += o->got[from * block + i] != value(2, from, rank, o->number, i); break;
        case 3: wrong += o->got[from * block + i] != value(3, from, 0, o->number, i); break;
        case 4: break;
        default: wrong += o->got[i] != sum_to_me;
      }
    }
  }
}

/* Completes in a random order, which is another one on each rank. */
static void complete_all(MPI_Request* requests, Operation* operations, unsigned seed) {
  int left = under_way, index = 0, done = 0, finished[under_way] = {0};
  while (left > 0) {
    const int i = rand_r(&seed) % under_way;
    switch (rand_r(&seed) % 4) {
      case 0: MPI_Waitany(under_way, requests, &index, MPI_STATUS_IGNORE); break;
      case 1:
        MPI_Testany(under_way, requests, &index, &done, MPI_STATUS_IGNORE);
        if (!done) index = MPI_UNDEFINED;
        break;
      case 2:
        if (finished[i]) continue;
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        index = i;
        break;
      default:
        if (finished[i]) continue;
        MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
        index = done ? i : MPI_UNDEFINED;
    }
    if (index == MPI_UNDEFINED) {
      sched_yield(); /* other ranks may need the core */
      continue;
    }
    wrong += finished[index]++;
    judge(&operations[index]);
    left--;
  }
}

static void meet(MPI_Comm comm, int thread) {
  int sum = 0, one = 1, token = rank, from = -1;
  MPI_Request request;
  MPI_Irecv(&from, 1, MPI_INT, (rank + size - 1) % size, 100 + thread, comm, &request);
  MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 100 + thread, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  wrong += from != (rank + size - 1) % size;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  wrong += sum != size;
}

typedef struct {
  MPI_Comm comm[comms];
  int number;
} Thread;

static void* run_thread(void* given) {
  Thread* thread = given;
  Operation* operations = calloc(under_way, sizeof *operations);
  MPI_Request requests[under_way];
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < under_way; i++) {
      start(&operations[i], i + round, round * 100 + i, thread->comm[i % comms], &requests[i]);
      if (i == under_way / 2) meet(thread->comm[round], thread->number);
    }
    complete_all(requests, operations, (unsigned)(rank * 977 + round * 13 + thread->number));
  }
  free(operations);
  return NULL;
}

static void many(int count) {
  static Thread all[threads];
  pthread_t running[threads];
  for (int t = 0; t < count; t++) {
    all[t].number = t;
    for (int c = 0; c < comms; c++) MPI_Comm_dup(MPI_COMM_WORLD, &all[t].comm[c]);
  }
  if (count == 1) run_thread(&all[0]);
  for (int t = 0; count > 1 && t < count; t++) pthread_create(&running[t], NULL, run_thread, &all[t]);
  for (int t = 0; count > 1 && t < count; t++) pthread_join(running[t], NULL);
  for (int t = 0; t < count; t++)
    for (int c = 0; c < comms; c++) MPI_Comm_free(&all[t].comm[c]);
}

static void cross(void) {
  static Operation operation;
  MPI_Comm other;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int number = 0; number < 12; number++) {
    start(&operation, number, number, MPI_COMM_WORLD, &request);
    if (rank == number % size) { /* this one ends the operation before it comes to where the others are */
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Barrier(other);
    } else {
      MPI_Barrier(other);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    judge(&operation);
  }
  MPI_Comm_free(&other);
}

static void lifetimes(void) {
  static int sent[2 * block], got[most_ranks * 2 * block];
  for (int number = 0; number < 8; number++) {
    MPI_Comm comm;
    MPI_Datatype every_second;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_vector(block, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    for (int i = 0; i < 2 * block; i++) sent[i] = value(1, rank, 0, number, i);
    memset(got, 0, sizeof got);
    MPI_Iallgather(sent, 1, every_second, got, block, MPI_INT, comm, &request);
    MPI_Type_free(&every_second);
    MPI_Comm_free(&comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int from = 0; from < size; from++)
      for (int i = 0; i < block; i++) wrong += got[from * block + i] != value(1, from, 0, number, 2 * i);
  }
}

/* A persistent operation is started again after its communicator is freed, which then lives on. */
static void persistent_lifetimes(void) {
#if MPI_VERSION >= 4
  static int sent[most_ranks * block], got[most_ranks * block];
  for (int number = 0; number < 8; number++) {
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Alltoall_init(sent, block, MPI_INT, got, block, MPI_INT, comm, MPI_INFO_NULL, &request);
    for (int again = 0; again < 3; again++) {
      for (int to = 0; to < size; to++)
        for (int i = 0; i < block; i++) sent[to * block + i] = value(2, rank, to, number + again, i);
      MPI_Start(&request);
      if (again == 0) MPI_Comm_free(&comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (int from = 0; from < size; from++)
        for (int i = 0; i < block; i++) wrong += got[from * block + i] != value(2, from, rank, number + again, i);
      memset(got, 0, sizeof got);
    }
    MPI_Request_free(&request);
  }
#endif
}

typedef struct {
  int number;
  int other;
} Pair;

static void add_pairs(void* in, void* to, int* count, MPI_Datatype* type) {
  MPI_Aint lb = 0, extent = 0;
  MPI_Type_get_extent(*type, &lb, &extent);
  if (extent != (MPI_Aint)sizeof(Pair)) wrong++;
  for (int i = 0; i < *count; i++) {
    ((Pair*)to)[i].number += ((Pair*)in)[i].number;
    ((Pair*)to)[i].other += ((Pair*)in)[i].other;
  }
}

/* The program's operation and its type are freed while the reduction is under way. */
static void reduce_pairs(int number) {
  static Pair sent[block], got[block];
  MPI_Datatype pair;
  MPI_Op op;
  MPI_Request request;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(add_pairs, 1, &op);
  for (int i = 0; i < block; i++) {
    sent[i] = (Pair){value(1, rank, 0, number, i), rank};
    got[i] = (Pair){0, 0};
  }
  MPI_Iallreduce(sent, got, block, pair, op, MPI_COMM_WORLD, &request);
  MPI_Op_free(&op);
  MPI_Type_free(&pair);
  wrong += op != MPI_OP_NULL || pair != MPI_DATATYPE_NULL;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < block; i++) {
    int sum = 0;
    for (int r = 0; r < size; r++) sum += value(1, r, 0, number, i);
    wrong += got[i].number != sum || got[i].other != size * (size - 1) / 2;
  }
}

/* Only the root knows all counts; it starts last. */
static void gather_lengths(int number) {
  static int sent[block], got[most_ranks * block];
  int counts[most_ranks], places[most_ranks], root = number % size, end = 0;
  MPI_Request request;
  for (int r = 0; r < size; r++) {
    counts[r] = (r * 37 + number * 11) % block;
    places[r] = end;
    end += counts[r];
  }
  for (int i = 0; i < block; i++) sent[i] = value(2, rank, root, number, i);
  if (rank == root) usleep(2000);
  MPI_Igatherv(sent, counts[rank], MPI_INT, got, counts, places, MPI_INT, root, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int r = 0; rank == root && r < size; r++)
    for (int i = 0; i < counts[r]; i++) wrong += got[places[r] + i] != value(2, r, root, number, i);
}

/* The same for the other direction. */
static void scatter_lengths(int number) {
  static int sent[most_ranks * block], got[block];
  int counts[most_ranks], places[most_ranks], root = number % size, end = 0;
  MPI_Request request;
  for (int r = 0; r < size; r++) {
    counts[r] = (r * 37 + number * 11) % block;
    places[r] = end;
    for (int i = 0; i < counts[r]; i++) sent[end + i] = value(3, root, r, number, i);
    end += counts[r];
  }
  MPI_Iscatterv(sent, counts, places, MPI_INT, got, counts[rank], MPI_INT, root, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < counts[rank]; i++) wrong += got[i] != value(3, root, rank, number, i);
}

static void exchange_lengths(int number) {
  static int sent[most_ranks * block], got[most_ranks * block];
  int to[most_ranks], from[most_ranks], places[most_ranks];
  MPI_Request request;
  for (int r = 0; r < size; r++) {
    to[r] = (rank * 13 + r * 37 + number) % block;
    from[r] = (r * 13 + rank * 37 + number) % block;
    places[r] = r * block;
    for (int i = 0; i < to[r]; i++) sent[places[r] + i] = value(4, rank, r, number, i);
  }
  MPI_Ialltoallv(sent, to, places, MPI_INT, got, from, places, MPI_INT, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int r = 0; r < size; r++)
    for (int i = 0; i < from[r]; i++) wrong += got[places[r] + i] != value(4, r, rank, number, i);
}

static void late(void) {
  static Operation operations[6];
  MPI_Request requests[6];
  for (int number = 0; number < 6; number++) {
    const int last = number % size;
    int token = number;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank == last) {
      for (int r = 0; r < size; r++)
        if (r != last) MPI_Recv(&token, 1, MPI_INT, r, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      usleep(20000);
    }
    for (int i = 0; i < 6; i++) start(&operations[i], i, number * 10 + i, comm, &requests[i]);
    if (rank != last) MPI_Send(&token, 1, MPI_INT, last, 5, MPI_COMM_WORLD);
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 6; i++) judge(&operations[i]);
    MPI_Comm_free(&comm);
  }
}

int main(int argc, char** argv) {
  int provided = 0;
  const char* const mode = argc > 1 ? argv[1] : "many";
  MPI_Init_thread(&argc, &argv, strcmp(mode, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(mode, "many") == 0) many(1);
  else if (strcmp(mode, "threads") == 0 && provided == MPI_THREAD_MULTIPLE) many(threads);
  else if (strcmp(mode, "cross") == 0) cross();
  else if (strcmp(mode, "lifetimes") == 0) {
    lifetimes();
    persistent_lifetimes();
    for (int number = 0; number < 8; number++) reduce_pairs(number);
    for (int number = 0; number < 8; number++) gather_lengths(number);
  } else if (strcmp(mode, "counts") == 0) {
    for (int number = 0; number < 4; number++) {
      exchange_lengths(number);
      scatter_lengths(number);
      exchange_lengths(number);
      gather_lengths(number);
    }
  } else if (strcmp(mode, "late") == 0) late();
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
