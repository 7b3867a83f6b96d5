/* SPDX-License-Identifier: Apache-2.0 */
/* What an attribute of MPI_COMM_SELF does in MPI_Finalize: it starts a persistent collective, calls others, and
   receives a long message that was sent before. With an argument the program has threads. Prints "verified". */
#include <mpi.h>
#include <stdio.h>

#include "verdict.h"

enum { count = 20000 };

static double mine[count], sums[count], late[count];
static MPI_Request reduction;

static int finish(MPI_Comm self, int keyval, void* value, void* extra) {
  int rank, size, received = 0, wrong = 0;
  MPI_Request request;
  MPI_Status status;
  (void)self, (void)keyval, (void)value, (void)extra;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Start(&reduction);
  MPI_Wait(&reduction, MPI_STATUS_IGNORE);
  MPI_Request_free(&reduction);
  for (int i = 0; i < count; i++) wrong += sums[i] != size * i;
  MPI_Bcast(sums, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Iallreduce(mine, sums, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; i++) wrong += sums[i] != i;
  if (rank == 0) {
    MPI_Recv(late, count, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &received);
    wrong += received != count || late[count - 1] != count - 1;
  }
  tell_verdict(wrong);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  static char room[count * sizeof(double) + 1000];
  int rank, keyval, provided;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finish, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  MPI_Comm_free_keyval(&keyval);
  for (int i = 0; i < count; i++) mine[i] = i;
  MPI_Allreduce_init(mine, sums, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &reduction);
  MPI_Buffer_attach(room, sizeof room);
  if (rank == 1) MPI_Bsend(mine, count, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
