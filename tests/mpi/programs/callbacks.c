/* SPDX-License-Identifier: Apache-2.0 */
/* What the program's callbacks receive within a call of MPI is what was sent: in the free function of a generalized
 * request, in an error handler (which then leaves the call by a jump), and in an attribute's delete function, on the
 * communicator that is being freed. With an argument, as one of several threads. Prints "verified". */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "verdict.h"

enum { count = 4000, comms = 3 };

static double in[count], out[count];
static int rank;
static long wrong;
static MPI_Comm duplicate;
static jmp_buf back;

static void fill(double* data, int tag) {
  for (int i = 0; i < count; i++) data[i] = tag + i / 16;
}

static void send_long(int tag, MPI_Comm comm) {
  fill(out, tag);
  MPI_Send(out, count, MPI_DOUBLE, 1 - rank, tag, comm);
}

static void receive_long(int tag, MPI_Comm comm) {
  double expected[count];
  MPI_Status status;
  int got = 0;
  fill(expected, tag);
  memset(in, 0, sizeof in);
  MPI_Recv(in, count, MPI_DOUBLE, 1 - rank, tag, comm, &status);
  MPI_Get_count(&status, MPI_DOUBLE, &got);
  wrong += got != count || memcmp(in, expected, sizeof in) != 0;
}

static int query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static int release(void* state) {
  (void)state;
  receive_long(1, MPI_COMM_WORLD);
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}

static void in_free_function(void) {
  MPI_Request request;
  if (rank == 0) {
    send_long(1, MPI_COMM_WORLD);
    return;
  }
  MPI_Grequest_start(query, release, cancel, NULL, &request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void handler(MPI_Comm* comm, int* code, ...) {
  (void)code;
  receive_long(2, *comm);
  longjmp(back, 1);
}

/* The second call's source is no rank, and the third one's is not even a probe's. */
static void wrong_call(int which) {
  static double little;
  MPI_Request request;
  MPI_Status status;
  int flag;
  if (which == 0) MPI_Recv(&little, 1, MPI_DOUBLE, 0, 3, duplicate, &status);
  if (which == 1) MPI_Irecv(in, count, MPI_DOUBLE, 2, 3, duplicate, &request);
  if (which == 2) MPI_Iprobe(2, 3, duplicate, &flag, &status);
  wrong++;
}

static void in_error_handler(void) {
  MPI_Errhandler errors;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  MPI_Comm_create_errhandler(handler, &errors);
  MPI_Comm_set_errhandler(duplicate, errors);
  for (volatile int which = 0; which < 3; which++) {
    if (rank == 0) {
      if (which == 0) send_long(3, duplicate);
      send_long(2, duplicate);
      send_long(4, duplicate);
    } else {
      if (setjmp(back) == 0) wrong_call(which);
      receive_long(4, duplicate);
    }
  }
  MPI_Errhandler_free(&errors);
  MPI_Comm_free(&duplicate);
}

static int delete_it(MPI_Comm comm, int key, void* value, void* extra) {
  double sum = 0, one = 1;
  (void)key;
  (void)extra;
  if (*(int*)value > 1) receive_long(5, comm); /* sent before the communicator was freed */
  if (rank == 0) send_long(6, comm);
  else receive_long(6, comm);
  MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  wrong += sum != 2;
  return MPI_SUCCESS;
}

/* Nothing has gone over the first communicator before, only a collective over the second one. */
static void in_delete_function(void) {
  static int number[comms];
  for (int c = 0; c < comms; c++) {
    MPI_Comm comm;
    MPI_Request request;
    int key;
    number[c] = c;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_it, &key, NULL);
    MPI_Comm_set_attr(comm, key, &number[c]);
    if (c > 0) MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_MAX, comm);
    fill(out, 5);
    static double kept[count];
    memcpy(kept, out, sizeof kept);
    if (c > 1) MPI_Isend(kept, count, MPI_DOUBLE, 1 - rank, 5, comm, &request);
    if (c == 1) MPI_Comm_disconnect(&comm);
    else MPI_Comm_free(&comm);
    if (c > 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free_keyval(&key);
  }
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  in_free_function();
  in_error_handler();
  in_delete_function();
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
