// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages where order, errors or other requests matter: later receives completed first, truncation,
// cancellation, other kinds of requests in the same call, intercommunicators, messages to oneself, freed receives,
// threads. Prints "verified" or what is wrong.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "smooth.h"

enum { n = 2000, rounds = 40, thread_count = 3 };

/// Four messages of one channel are sent at once, and the last is awaited first.
static void later_first(void) {
  double* v = malloc(4 * n * sizeof *v);
  for (int round = 0; round < rounds; ++round) {
    MPI_Request r[4];
    if (rank == 0) {
      for (int k = 0; k < 4; ++k) {
        make(v + k * n, n, 4 * round + k, 0);
        MPI_Isend(v + k * n, n, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD, &r[k]);
      }
      MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
      for (int k = 0; k < 4; ++k)
        MPI_Irecv(v + k * n, n, MPI_DOUBLE, k % 2 ? MPI_ANY_SOURCE : 0, k % 3 ? 5 : MPI_ANY_TAG, MPI_COMM_WORLD, &r[k]);
      MPI_Wait(&r[3], MPI_STATUS_IGNORE);
      expect(same(v + 3 * n, n, 4 * round + 3, 0), "last one first", round);
      int index = 0;
      MPI_Waitany(2, r + 1, &index, MPI_STATUS_IGNORE);
      MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
      for (int k = 0; k < 4; ++k) expect(same(v + k * n, n, 4 * round + k, 0), "the others after it", k);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(v);
}

static int class_of(int code) {
  int c = 0;
  MPI_Error_class(code, &c);
  return c;
}

/// A message that is too long is an error of the receive, of MPI_Wait and, where `by_waitall` says so, of MPI_Waitall.
static void truncation(int by_waitall) {
  double v[n], w[n];
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  // Errors of MPI_Waitall do not belong to the communicator of a request.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int kind = 0; kind < 2 + by_waitall; ++kind) {
    if (rank == 0) {
      make(v, n, 0, 0);
      MPI_Send(v, n, MPI_DOUBLE, 1, 6, comm);
    } else if (rank == 1) {
      MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      MPI_Status s[2];
      int code = 0;
      if (kind == 0) code = MPI_Recv(w, 1000, MPI_DOUBLE, 0, 6, comm, MPI_STATUS_IGNORE);
      if (kind > 0) MPI_Irecv(w, 1000, MPI_DOUBLE, 0, 6, comm, &r[1]);
      if (kind == 1) code = MPI_Wait(&r[1], MPI_STATUS_IGNORE);
      if (kind == 2) {
        code = MPI_Waitall(2, r, s);
        expect(class_of(code) == MPI_ERR_IN_STATUS, "truncation in waitall", class_of(code));
        expect(s[0].MPI_ERROR == MPI_SUCCESS, "the null request has no error", s[0].MPI_ERROR);
        code = s[1].MPI_ERROR;
      }
      expect(class_of(code) == MPI_ERR_TRUNCATE, "truncation", class_of(code));
      expect(r[1] == MPI_REQUEST_NULL, "request after truncation", kind);
    }
    MPI_Barrier(comm);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
}

/// Loses one of a row of messages that can be predicted from each other, by a receive that is too short even for the
/// encoded message. All later messages arrive once the sender has heard from the receiver. Messages in transit may
/// fail, but must then report an error.
static void lost_messages(void) {
  double v[n], w[n];
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int to = 1; to < ranks; ++to) {
    const int room = to == 1 ? 8 : 1;
    for (int round = 0; round < rounds; ++round) {
      const int lost = round == 10, token = 0;
      if (rank == 0) {
        make(v, n, round, 0);
        MPI_Send(v, n, MPI_DOUBLE, to, 14, comm);
        MPI_Recv(&v[0], 1, MPI_INT, to, 15, comm, MPI_STATUS_IGNORE);
      } else if (rank == to) {
        const int code = MPI_Recv(w, lost ? room : n, MPI_DOUBLE, 0, 14, comm, MPI_STATUS_IGNORE);
        if (lost) expect(class_of(code) == MPI_ERR_TRUNCATE, "the lost message", class_of(code));
        // A receive that is too short for any frame goes to the library, so only the next message shows the loss.
        const int may_fail = room == 1 && round == 11;
        if (!lost && !may_fail) expect(code == MPI_SUCCESS, "a message after the lost one", round);
        if (!lost && code == MPI_SUCCESS) expect(same(w, n, round, 0), "data after the lost one", round);
        MPI_Send(&token, 1, MPI_INT, 0, 15, comm);
      }
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
}

enum { posted, started, exchanged, kinds };

/// Receives into a buffer that other receives share: an ordinary one, a persistent one, or half of an exchange.
static void receive_shared(int kind, double* w, int tag, MPI_Request* r) {
  if (kind == started) {
    MPI_Recv_init(w, n, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, r);
    MPI_Start(r);
    return;
  }
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
  if (kind == exchanged) {
    MPI_Isendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, w, n, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, r);
    return;
  }
#endif
  MPI_Irecv(w, n, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, r);
}

/// Posts many receives into one buffer that nobody reads, as bandwidth tests do. All of them must succeed.
static void one_buffer(int kind) {
  enum { window = 32 };
  double* v = malloc(window * n * sizeof *v);
  double* w = malloc(n * sizeof *w);
  for (int round = 0; round < 4; ++round) {
    MPI_Request r[window];
    for (int k = 0; k < window; ++k) {
      make(v + k * n, n, window * round + k, 5);
      if (rank == 0) MPI_Isend(v + k * n, n, MPI_DOUBLE, 1, 18, MPI_COMM_WORLD, &r[k]);
      if (rank == 1) receive_shared(kind, w, 18, &r[k]);
    }
    for (int k = 0, index = 0; rank < 2 && round % 2 && k < window / 2; ++k)
      MPI_Waitany(window, r, &index, MPI_STATUS_IGNORE);
    if (rank < 2) MPI_Waitall(window, r, MPI_STATUSES_IGNORE);
    for (int k = 0; rank == 1 && kind == started && k < window; ++k) MPI_Request_free(&r[k]);
    if (rank == 0) MPI_Send(v, n, MPI_DOUBLE, 1, 18, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(w, n, MPI_DOUBLE, 0, 18, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) expect(same(w, n, window * round, 5), "after many into one buffer", round);
  }
  free(v);
  free(w);
}

/// Cancelled sends either arrive or are cancelled, whatever was sent after them. Where `may_cancel` is false, none is.
static void cancelled_sends(int may_cancel) {
  double v[n], w[n];
  MPI_Request r, fixed;
  MPI_Status status;
  if (rank == 0) MPI_Send_init(v, n, MPI_DOUBLE, 1, 16, MPI_COMM_WORLD, &fixed);
  for (int round = 0; round < rounds; ++round) {
    int gone = 0;
    if (rank == 0) {
      make(v, n, round, 4);
      if (round % 2) MPI_Start(&fixed);
      else MPI_Isend(v, n, MPI_DOUBLE, 1, 16, MPI_COMM_WORLD, &r);
      MPI_Request* const request = round % 2 ? &fixed : &r;
      if (may_cancel && (round % 5 == 2 || round % 5 == 3)) MPI_Cancel(request);
      MPI_Wait(request, &status);
      MPI_Test_cancelled(&status, &gone);
      expect(*request == (round % 2 ? fixed : MPI_REQUEST_NULL), "request after a cancelled send", round);
      MPI_Send(&gone, 1, MPI_INT, 1, 17, MPI_COMM_WORLD);
    } else if (rank == 1) {
      MPI_Irecv(w, n, MPI_DOUBLE, 0, 16, MPI_COMM_WORLD, &r);
      MPI_Recv(&gone, 1, MPI_INT, 0, 17, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (gone) MPI_Cancel(&r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      expect(gone || same(w, n, round, 4), "cancelled and others", round);
    }
  }
  if (rank == 0) MPI_Request_free(&fixed);
}

/// A synchronous send completes when its receive has begun; a probe does not begin it.
static void synchronous_probe(void) {
  double* v = malloc(n * sizeof *v);
  double* got = malloc(n * sizeof *got);
  for (int round = 0; round < 8; ++round) {
    make(v, n, round, 2);
    MPI_Request request;
    MPI_Status status;
    int done = 0, count = 0;
    MPI_Issend(v, n, MPI_DOUBLE, rank, 9, MPI_COMM_WORLD, &request);
    MPI_Probe(rank, 9, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    expect(count == n, "length of a synchronous message", count);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    expect(!done, "a probe completes no synchronous send", round);
    MPI_Recv(got, n, MPI_DOUBLE, rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(same(got, n, round, 2), "a synchronous message", round);
  }
  free(v);
  free(got);
}

static int query(void* state, MPI_Status* s) {
  (void)state;
  MPI_Status_set_elements(s, MPI_INT, 3);
  MPI_Status_set_cancelled(s, 0);
  s->MPI_SOURCE = 77;
  s->MPI_TAG = 78;
  return MPI_SUCCESS;
}
static int release(void* state) { return (void)state, MPI_SUCCESS; }
static int refuse(void* state, int complete) { return (void)state, (void)complete, MPI_SUCCESS; }

static void company(void) {
  double v[n], w[n];
  MPI_Request r[5];
  MPI_Status s[5];
  make(v, n, 3, rank);
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  MPI_Irecv(w, n, MPI_DOUBLE, from, 7, MPI_COMM_WORLD, &r[0]);
  MPI_Grequest_start(query, release, refuse, NULL, &r[1]);
  MPI_Grequest_complete(r[1]);
  MPI_Ibarrier(MPI_COMM_WORLD, &r[2]);
  MPI_Isend(v, n, MPI_DOUBLE, to, 7, MPI_COMM_WORLD, &r[3]);
  r[4] = MPI_REQUEST_NULL;
  MPI_Waitall(5, r, s);
  int count = 0;
  MPI_Get_count(&s[0], MPI_DOUBLE, &count);
  expect(count == n && s[0].MPI_SOURCE == from && s[0].MPI_TAG == 7, "status among others", count);
  expect(s[1].MPI_SOURCE == 77 && s[1].MPI_TAG == 78, "generalised request among others", s[1].MPI_SOURCE);
  expect(s[4].MPI_SOURCE == MPI_ANY_SOURCE && s[4].MPI_TAG == MPI_ANY_TAG, "empty status", s[4].MPI_SOURCE);
  expect(same(w, n, 3, from), "data among others", 0);
  MPI_Sendrecv(v, n, MPI_DOUBLE, to, 8, w, n, MPI_DOUBLE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &s[0]);
  expect(same(w, n, 3, from) && s[0].MPI_TAG == 8, "ring", s[0].MPI_TAG);
  memcpy(w, v, sizeof v);
  MPI_Sendrecv_replace(w, n, MPI_DOUBLE, to, 9, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  expect(same(w, n, 3, from), "ring in place", 0);
  MPI_Sendrecv(v, n, MPI_DOUBLE, rank, 10, w, n, MPI_DOUBLE, rank, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  expect(same(w, n, 3, rank), "to oneself", 0);
  MPI_Irecv(w, n, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &r[0]);
  MPI_Send(v, n, MPI_DOUBLE, 0, 1, MPI_COMM_SELF);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  expect(same(w, n, 3, rank), "MPI_COMM_SELF", 0);
  MPI_Recv(w, n, MPI_DOUBLE, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &s[0]);
  MPI_Get_count(&s[0], MPI_DOUBLE, &count);
  expect(s[0].MPI_SOURCE == MPI_PROC_NULL && count == 0, "nobody", s[0].MPI_SOURCE);
  MPI_Irecv(w, n, MPI_DOUBLE, from, 11, MPI_COMM_WORLD, &r[0]);
  MPI_Cancel(&r[0]);
  MPI_Wait(&r[0], &s[0]);
  MPI_Test_cancelled(&s[0], &count);
  expect(count != 0, "cancelled receive", count);
}

/// Rank 1 frees its receive; a later message tells it that the first has been received.
static void freed_receive(int persistent) {
  double v[n], w[n];
  int token = 0;
  make(v, n, 9, 0);
  memset(w, 0, sizeof w);
  if (rank == 0) {
    MPI_Recv(&token, 0, MPI_INT, 1, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(v, n, MPI_DOUBLE, 1, 12, MPI_COMM_WORLD);
    MPI_Send(&token, 1, MPI_INT, 1, 13, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Request r;
    if (persistent) {
      MPI_Recv_init(w, n, MPI_DOUBLE, 0, 12, MPI_COMM_WORLD, &r);
      MPI_Start(&r);
    } else {
      MPI_Irecv(w, n, MPI_DOUBLE, 0, 12, MPI_COMM_WORLD, &r);
    }
    MPI_Request_free(&r);
    expect(r == MPI_REQUEST_NULL, "request after it was freed", persistent);
    MPI_Send(&token, 0, MPI_INT, 0, 13, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_INT, 0, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(same(w, n, 9, 0), "freed receive", 0);
  }
}

static void intercommunicator(void) {
  if (ranks < 2) return;
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 99, &inter);
  int here = 0, there = 0;
  MPI_Comm_rank(inter, &here);
  MPI_Comm_remote_size(inter, &there);
  if (here < there) {
    double v[n], w[n];
    for (int round = 0; round < 5; ++round) {
      make(v, n, round, rank);
      MPI_Sendrecv(v, n, MPI_DOUBLE, here, 3, w, n, MPI_DOUBLE, here, 3, inter, MPI_STATUS_IGNORE);
      expect(same(w, n, round, rank % 2 ? rank - 1 : rank + 1), "intercommunicator", round);
    }
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void* in_thread(void* which) {
  const int salt = (int)(long)which;
  double* v = malloc(2 * n * sizeof *v);
  double* w = v + n;
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  for (int round = 0; round < rounds; ++round) {
    MPI_Request r[2];
    make(v, n, round, 100 * salt + rank);
    MPI_Irecv(w, n, MPI_DOUBLE, round % 2 ? from : MPI_ANY_SOURCE, 200 + salt, MPI_COMM_WORLD, &r[0]);
    if (round % 3 == 0) {
      MPI_Send(v, n, MPI_DOUBLE, to, 200 + salt, MPI_COMM_WORLD);
      MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    } else {
      MPI_Isend(v, n, MPI_DOUBLE, to, 200 + salt, MPI_COMM_WORLD, &r[1]);
      MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    expect(same(w, n, round, 100 * salt + from), "threads", round);
    // All threads use one channel. Any thread may get any message, but each message must be one that was sent.
    make(v, n, round, rank);
    MPI_Irecv(w, n, MPI_DOUBLE, from, 199, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(v, n, MPI_DOUBLE, to, 199, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    int found = 0;
    for (int k = 0; k < rounds && !found; ++k) found = same(w, n, k, from);
    expect(found, "threads on one channel", round);
  }
  free(v);
  return NULL;
}

/// All threads receive into one buffer that nobody reads, from one channel on which all of them send; each message
/// resembles earlier ones. All receives must succeed, whichever thread completes which of them first.
static void* sharing_thread(void* shared) {
  enum { window = 8 };
  double* v = malloc(window * n * sizeof *v);
  for (int round = 0; round < 8; ++round) {
    MPI_Request r[window];
    for (int k = 0; k < window; ++k) {
      make(v + k * n, n, window * round + k, 0);
      if (rank == 0 && round % 2) MPI_Send(v, n, MPI_DOUBLE, 1, 198, MPI_COMM_WORLD);
      if (rank == 1 && round % 2) MPI_Recv(shared, n, MPI_DOUBLE, 0, 198, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 0 && round % 2 == 0) MPI_Isend(v + k * n, n, MPI_DOUBLE, 1, 198, MPI_COMM_WORLD, &r[k]);
      if (rank == 1 && round % 2 == 0) MPI_Irecv(shared, n, MPI_DOUBLE, 0, 198, MPI_COMM_WORLD, &r[k]);
    }
    if (rank < 2 && round % 2 == 0) MPI_Waitall(window, r, MPI_STATUSES_IGNORE);
  }
  free(v);
  return NULL;
}

static void run_threads(void* (*run)(void*), void* shared) {
  pthread_t threads[thread_count];
  for (long t = 0; t < thread_count; ++t) pthread_create(&threads[t], NULL, run, shared != NULL ? shared : (void*)t);
  for (int t = 0; t < thread_count; ++t) pthread_join(threads[t], NULL);
}

/// Arguments: "threads", "sends-stay", which cancels no send, and "waitall-succeeds", which lets no MPI_Waitall fail.
int main(int argc, char** argv) {
  int level = 0, threads = 0, may_cancel = 1, waitall_may_fail = 1;
  for (int i = 1; i < argc; ++i) {
    threads |= strcmp(argv[i], "threads") == 0;
    may_cancel &= strcmp(argv[i], "sends-stay") != 0;
    waitall_may_fail &= strcmp(argv[i], "waitall-succeeds") != 0;
  }
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int known = 0;
  MPI_Query_thread(&known);
  expect(known == level, "level of threads", known);
  later_first();
  truncation(waitall_may_fail);
  lost_messages();
  cancelled_sends(may_cancel);
  for (int kind = 0; kind < kinds; ++kind) one_buffer(kind);
  synchronous_probe();
  company();
  for (int persistent = 0; persistent < 2; ++persistent) freed_receive(persistent);
  intercommunicator();
  if (threads && level == MPI_THREAD_MULTIPLE) {
    double* shared = malloc(n * sizeof *shared);
    run_threads(in_thread, NULL);
    run_threads(sharing_thread, shared);
    free(shared);
  }
  int all = 0;
  MPI_Reduce(&failed, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf(all == 0 ? "verified\n" : "%d failed\n", all);
  MPI_Finalize();
  return 0;
}
