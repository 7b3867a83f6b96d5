/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of plain calls: intercommunicators, absolute addresses, other traffic, lifetimes of communicators,
 * errors, threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

void check_barrier(MPI_Comm comm) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int late = 0; late < size; late++) { /* nobody may leave before the late rank has come */
    int come = 0, token = 0;
    if (rank == late) {
      usleep(20000);
      come = 1;
      for (int i = 0; i < size; i++)
        if (i != rank) MPI_Send(&come, 1, MPI_INT, i, 7, comm);
    }
    MPI_Barrier(comm);
    if (rank != late) { /* sent before the barrier and eager, so it has arrived or does so within a moment */
      for (int tries = 0; tries < 2000 && !token; tries++) {
        MPI_Iprobe(late, 7, comm, &token, MPI_STATUS_IGNORE);
        if (!token) usleep(100);
      }
      if (token) MPI_Recv(&come, 1, MPI_INT, late, 7, comm, MPI_STATUS_IGNORE);
    }
    judge_value("late rank's message after the barrier", come, 1);
  }
}

void check_intercommunicators(void) {
  int rank, size, value, all[MAX_RANKS];
  MPI_Comm half, inter;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) return;
  int low = rank < size / 2, others = low ? size - size / 2 : size / 2, first = low ? size / 2 : 0,
      mine = low ? 0 : size / 2;
  MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first, 5, &inter);
  for (int repetition = 0; repetition < 3; repetition++) {
    MPI_Barrier(inter);
    value = rank == 0 ? 4711 + repetition : -1;
    MPI_Bcast(&value, 1, MPI_INT, low ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
    judge_value("bcast over an intercommunicator", value, low && rank != 0 ? -1 : 4711 + repetition);
    value = rank + 1;
    MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < others; i++) judge_value("allgather over an intercommunicator", all[i], first + i + 1);
    MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, inter);
    int wanted = 0;
    for (int i = 0; i < others; i++) wanted += first + i;
    judge_value("allreduce over an intercommunicator", value, wanted);
    int out[MAX_RANKS];
    for (int i = 0; i < others; i++) out[i] = rank * 100 + first + i;
    MPI_Alltoall(out, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < others; i++)
      judge_value("alltoall over an intercommunicator", all[i], (first + i) * 100 + rank);
    (void)mine;
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

void check_bottom(void) {
  int rank, size, values[40];
  MPI_Aint address;
  MPI_Datatype absolute;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 40; i++) values[i] = rank == size - 1 ? i * i : -1;
  MPI_Get_address(values, &address);
  MPI_Type_create_hindexed(1, (int[]){40}, &address, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  MPI_Bcast(MPI_BOTTOM, 1, absolute, size - 1, MPI_COMM_WORLD);
  for (int i = 0; i < 40; i++) judge_value("bcast of an absolute address", values[i], i * i);
  MPI_Type_free(&absolute);
}

/* A receive from any source with any tag is pending: it must get the user's message and none of a collective's. */
void check_wildcards(void) {
  int rank, size, got = -1, value, all[MAX_RANKS];
  MPI_Request pending, barrier;
  MPI_Status status;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &pending);
  MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
  for (int i = 0; i < 5; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    value = rank == i % size ? i : -1;
    MPI_Bcast(&value, 1, MPI_INT, i % size, MPI_COMM_WORLD);
    judge_value("bcast while a receive from anyone is pending", value, i);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++) judge_value("allgather while a receive from anyone is pending", all[r], r);
  }
  MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  int next = (rank + 1) % size, previous = (rank - 1 + size) % size, out = 1000 + rank;
  MPI_Send(&out, 1, MPI_INT, next, 42, MPI_COMM_WORLD);
  MPI_Wait(&pending, &status);
  judge_value("what a receive from anyone got", got, 1000 + previous);
  judge_value("its tag", status.MPI_TAG, 42);
  MPI_Barrier(MPI_COMM_WORLD); /* before a later message finds another rank's receive */
}

static long resident_kib(void) {
  long pages = 0, ignored;
  FILE* f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%ld %ld", &ignored, &pages) != 2) pages = 0;
  if (f != NULL) fclose(f);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void use(MPI_Comm comm) {
  int rank, size, value, all[MAX_RANKS], out[MAX_RANKS];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  value = rank == size - 1 ? 77 : 0;
  MPI_Bcast(&value, 1, MPI_INT, size - 1, comm);
  judge_value("bcast on a new communicator", value, 77);
  MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, comm);
  judge_value("allreduce on a new communicator", value, size * (size - 1) / 2);
  for (int i = 0; i < size; i++) out[i] = rank * 64 + i;
  MPI_Alltoall(out, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int i = 0; i < size; i++) judge_value("alltoall on a new communicator", all[i], i * 64 + rank);
}

/* Makes communicators until the library has no more (MPICH has 2,048 at a time), and frees a few: whatever is then not
 * freed with its communicator soon exhausts them. */
void occupy_communicators(void) {
  enum { MOST = 4096, LEFT = 64 };
  MPI_Comm taken[MOST];
  int number = 0;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  while (number < MOST && MPI_Comm_dup(MPI_COMM_SELF, &taken[number]) == MPI_SUCCESS) number++;
  int left = number == MOST ? MOST : LEFT; /* a library without a limit has nothing to keep */
  judge_value("too few communicators", number <= left && number < MOST, 0);
  for (int i = 0; i < left; i++) MPI_Comm_free(&taken[number - 1 - i]);
}

void check_communicators(int repetitions) {
  MPI_Comm comm, child;
  int rank;
  long before = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < repetitions; i++) {
    if (i == repetitions / 4) before = resident_kib();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    use(comm);
    if (i % 3 == 0) { /* a child of a communicator in use, which outlives it; with another rank order */
      MPI_Comm_split(comm, 0, -rank, &child);
      MPI_Comm_free(&comm);
      use(child);
      comm = child;
    }
    if (i % 2 == 0) {
      MPI_Comm_free(&comm);
    } else {
      MPI_Comm_disconnect(&comm);
    }
  }
  long growth = resident_kib() - before;
  if (rank == 0) printf("memory grew by %ld KiB in %d communicators\n", growth, repetitions - repetitions / 4);
  judge_value("memory grew by more than 4 KiB per communicator", growth > 4096 + 4L * repetitions, 0);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm); /* nobody frees this one */
  use(comm);
}

static void* one_thread(void* comm) {
  for (int i = 0; i < 60; i++) use(*(MPI_Comm*)comm);
  MPI_Barrier(*(MPI_Comm*)comm);
  return NULL;
}

void check_threads(void) {
  enum { THREADS = 3 };
  int provided;
  pthread_t threads[THREADS];
  MPI_Comm comms[THREADS];
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    printf("threads: not offered by this library\n");
    return;
  }
  for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, one_thread, &comms[i]);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) MPI_Comm_free(&comms[i]);
}

static void say(const char* what, int result) {
  int error_class = -1, rank;
  MPI_Error_class(result, &error_class);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("error class of %s: %d\n", what, error_class);
}

/* Mistakes that every rank makes and notices by itself. Not all libraries check the counts of reductions and of
 * vector collectives. */
void print_error_classes(void) {
  int a[MAX_RANKS] = {0}, b[MAX_RANKS] = {0}, size;
  double x = 0, y = 0;
  MPI_Comm comm;
  MPI_Datatype open;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Type_contiguous(2, MPI_INT, &open);
  for (int i = 0; i < 2; i++) {
    say("bcast, root too large", MPI_Bcast(a, 1, MPI_INT, size, comm));
    say("bcast, root negative", MPI_Bcast(a, 1, MPI_INT, -1, comm));
    say("bcast, count negative", MPI_Bcast(a, -1, MPI_INT, 0, comm));
    say("bcast, no datatype", MPI_Bcast(a, 1, MPI_DATATYPE_NULL, 0, comm));
    say("bcast, type not committed", MPI_Bcast(a, 1, open, 0, comm));
    say("bcast, no communicator", MPI_Bcast(a, 1, MPI_INT, 0, MPI_COMM_NULL));
    say("barrier, no communicator", MPI_Barrier(MPI_COMM_NULL));
    say("reduce, root too large", MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, size + 3, comm));
    say("gather, root negative", MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, -7, comm));
    say("scatter, root too large", MPI_Scatter(a, 1, MPI_INT, b, 1, MPI_INT, size, comm));
    say("allreduce, no operation", MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, comm));
    say("allreduce, operation not for the type", MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_BAND, comm));
    say("allreduce, sum of a derived type", MPI_Allreduce(a, b, 1, open, MPI_SUM, comm));
    say("allgather, receive count negative", MPI_Allgather(a, 1, MPI_INT, b, -1, MPI_INT, comm));
    say("alltoall, send count negative", MPI_Alltoall(a, -1, MPI_INT, b, 1, MPI_INT, comm));
    say("alltoall, no receive datatype", MPI_Alltoall(a, 1, MPI_INT, b, 1, MPI_DATATYPE_NULL, comm));
    use(comm); /* the communicator must still work after an error */
  }
  MPI_Type_free(&open);
  MPI_Comm_free(&comm);
}
