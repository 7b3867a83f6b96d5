/* SPDX-License-Identifier: Apache-2.0 */
/* in_turn FORM TIMES: ranks exchange messages in the order of their ranks, again and again, and end each exchange as
 * FORM says. The last exchange is unlike those before: what had been expected does not come. Prints "verified". */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

enum { most = 8, count = 16384 };

static int ranks, rank, to_send;
static long wrong;
static int out[most][2][count], in[most][2][count];
static MPI_Request sends[2 * most], receives[2 * most];
static MPI_Comm comm;

static void fill(int turn) {
  for (int peer = 0; peer < ranks; peer++)
    for (int part = 0; part < 2; part++)
      for (int i = 0; i < count; i++) out[peer][part][i] = turn * 1000003 + (rank * most + peer) * 2 + part + i / 7;
  memset(in, 0, sizeof in);
}

static void judge(int turn) {
  for (int peer = 0; peer < ranks; peer++)
    for (int part = 0; peer != rank && part < 2; part++)
      for (int i = 0; i < count; i++)
        wrong += in[peer][part][i] != turn * 1000003 + (peer * most + rank) * 2 + part + i / 7;
}

static void post_receives(void) {
  int n = 0;
  for (int peer = 0; peer < ranks; peer++)
    for (int part = 0; peer != rank && part < 2; part++)
      MPI_Irecv(in[peer][part], count, MPI_INT, peer, 5, comm, &receives[n++]);
}

/* Messages to one rank have one tag, so that they must not overtake each other. Types are freed at once. */
static void start_sends(void) {
  to_send = 0;
  for (int peer = 0; peer < ranks; peer++)
    for (int part = 0; peer != rank && part < 2; part++) {
      MPI_Datatype rows;
      MPI_Type_vector(count / 4, 4, 4, MPI_INT, &rows);
      MPI_Type_commit(&rows);
      MPI_Isend(out[peer][part], part ? 1 : count, part ? rows : MPI_INT, peer, 5, comm, &sends[to_send++]);
      MPI_Type_free(&rows);
    }
}

static void wait_any(void) {
  for (int k = 0; k < to_send; k++) {
    int index;
    MPI_Status status;
    MPI_Waitany(to_send, receives, &index, &status);
    wrong += index == MPI_UNDEFINED || status.MPI_TAG != 5;
  }
  MPI_Waitall(to_send, sends, MPI_STATUSES_IGNORE);
}

static void wait_some(void) {
  int done = 0, indices[2 * most];
  for (int left = to_send; left > 0; left -= done) MPI_Waitsome(to_send, receives, &done, indices, MPI_STATUSES_IGNORE);
  for (int k = 0; k < to_send; k++) MPI_Wait(&sends[k], MPI_STATUS_IGNORE);
}

static void test_all(void) {
  int received = 0, sent = 0;
  while (!received || !sent) {
    if (!received) MPI_Testall(to_send, receives, &received, MPI_STATUSES_IGNORE);
    if (!sent) MPI_Testall(to_send, sends, &sent, MPI_STATUSES_IGNORE);
  }
}

static void wait_all(void) {
  MPI_Waitall(to_send, receives, MPI_STATUSES_IGNORE);
  MPI_Waitall(to_send, sends, MPI_STATUSES_IGNORE);
  for (int k = 0; k < to_send; k++) wrong += sends[k] != MPI_REQUEST_NULL;
}

static void end_exchange(const char* form) {
  if (strcmp(form, "any") == 0) wait_any();
  else if (strcmp(form, "some") == 0) wait_some();
  else if (strcmp(form, "test") == 0) test_all();
  else wait_all();
}

/* Rank 0 sends and goes to the barrier or fence, where the others do not come before they have its messages. */
static void receive_before(const char* form) {
  const int fences = strcmp(form, "fence") == 0;
  MPI_Win window;
  if (fences) MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  start_sends();
  for (int part = 0; rank != 0 && part < 2; part++)
    MPI_Recv(in[0][part], count, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
  if (fences) MPI_Win_fence(0, window);
  else MPI_Barrier(MPI_COMM_WORLD);
  for (int from = 1; from < ranks; from++)
    for (int part = 0; from != rank && part < 2; part++)
      MPI_Recv(in[from][part], count, MPI_INT, from, 5, comm, MPI_STATUS_IGNORE);
  wait_all();
  if (fences) MPI_Win_free(&window);
}

/* The program sees to its messages in ways that it has not had before. */
static void end_in_another_way(const char* form) {
  int cancelled = 0;
  MPI_Status status;
  post_receives();
  MPI_Barrier(MPI_COMM_WORLD);
  start_sends();
  for (int k = 0; strcmp(form, "free") == 0 && k < to_send; k++) MPI_Request_free(&sends[k]);
  if (strcmp(form, "comm") == 0) MPI_Comm_free(&comm);
  if (strcmp(form, "cancel") == 0) {
    MPI_Cancel(&sends[0]);
    MPI_Wait(&sends[0], &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (cancelled) MPI_Abort(MPI_COMM_WORLD, 3); /* what comes next would be taken for it */
  }
  wait_all();
}

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  const int wanted = strcmp(argv[1], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, wanted, &level);
  wrong += level < wanted;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const char* form = argv[1];
  const int times = atoi(argv[2]);
  for (int turn = 0; turn < times; turn++) {
    fill(turn);
    post_receives();
    MPI_Barrier(MPI_COMM_WORLD);
    start_sends();
    end_exchange(form);
    judge(turn);
  }
  fill(times);
  if (strcmp(form, "fence") == 0 || strcmp(form, "barrier") == 0) receive_before(form);
  else end_in_another_way(form);
  judge(times);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  tell_verdict(wrong);
  MPI_Finalize();
}
