/* SPDX-License-Identifier: Apache-2.0 */
/* One thread of rank 1 probes for long messages of rank 0 and receives them, while another receives short ones that
 * rank 0 sends before them. Each short one must be the next. Prints "verified". */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#include "verdict.h"

enum { rounds = 500, each = 64, length = 256, short_tag = 5, long_tag = 7 };

static void* receive_long(void* wrong) {
  double data[length];
  MPI_Status status;
  for (int round = 0; round < rounds; round++) {
    MPI_Probe(0, long_tag, MPI_COMM_WORLD, &status);
    MPI_Recv(data, length, MPI_DOUBLE, 0, long_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *(long*)wrong += data[0] != round || data[length - 1] != round;
  }
  return NULL;
}

/* A message that was passed over never comes, so that the first wrong one ends the job. */
static void receive_short(void) {
  int number = 0;
  for (int round = 0; round < each * rounds; round++) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (round % 2) MPI_Irecv(&number, 1, MPI_INT, 0, short_tag, MPI_COMM_WORLD, &request);
    else MPI_Recv(&number, 1, MPI_INT, 0, short_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (number == round) continue;
    fprintf(stderr, "message %d came instead of %d\n", number, round);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void send_both(void) {
  double data[length];
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < length; i++) data[i] = round;
    for (int i = 0; i < each; i++) {
      const int number = each * round + i;
      MPI_Send(&number, 1, MPI_INT, 1, short_tag, MPI_COMM_WORLD);
    }
    MPI_Send(data, length, MPI_DOUBLE, 1, long_tag, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  int level, rank;
  long wrong = 0;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    send_both();
  } else {
    pthread_create(&thread, NULL, receive_long, &wrong);
    receive_short();
    pthread_join(thread, NULL);
  }
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
