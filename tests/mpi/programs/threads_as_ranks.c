/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives and messages on MPICH's communicators whose ranks are threads. Prints "verified". */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>

#include "smooth.h"
#include "verdict.h"

enum { threads = 3, calls = 20, values = 4096, n = 20000 };

static MPI_Comm comm;

static void communicate(int self, int size) {
  int* const data = malloc(values * sizeof *data);
  double* const v = malloc(n * sizeof *v);
  for (int call = 0; call < calls; ++call) {
    const int own = self + 1;
    int sum = 0;
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
    expect(sum == size * (size + 1) / 2, "a sum", call);
    for (int i = 0; i < values; ++i) data[i] = self == 0 ? call : -1;
    MPI_Bcast(data, values, MPI_INT, 0, comm);
    for (int i = 0; i < values; ++i) expect(data[i] == call, "a broadcast", call);
    make(v, n, call, 0);
    if (self == 0) MPI_Send(v, n, MPI_DOUBLE, size - 1, 3, comm);
    if (self == size - 1) MPI_Recv(v, n, MPI_DOUBLE, 0, 3, comm, MPI_STATUS_IGNORE);
    expect(same(v, n, call, 0), "a message", call);
  }
  free(data);
  free(v);
}

static void* work(void* unused) {
  int self, size;
  MPIX_Threadcomm_start(comm);
  MPI_Comm_rank(comm, &self);
  MPI_Comm_size(comm, &size);
  communicate(self, size);
  MPIX_Threadcomm_finish(comm);
  return unused;
}

int main(int argc, char** argv) {
  int level;
  pthread_t workers[threads];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPIX_Threadcomm_init(MPI_COMM_WORLD, threads, &comm);
  for (int t = 0; t < threads; ++t) pthread_create(&workers[t], NULL, work, NULL);
  for (int t = 0; t < threads; ++t) pthread_join(workers[t], NULL);
  MPIX_Threadcomm_free(&comm);
  tell_verdict(failed);
  MPI_Finalize();
  return 0;
}
