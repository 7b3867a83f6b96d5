/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the thread sanitizer of an order that MPI gives, and that it cannot see in a library which is not compiled for
 * it: all before the end of a request comes before what follows its completion. mpi/entry/program_request.cpp has the
 * other side; both name the order by an address that both have. It is loaded before the preload object. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

void __tsan_acquire(void* address);

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
/* Makes the call; what follows comes after the ends of all requests so far, if it completed one. */
#define COMPLETE(name, completed, ...)       \
  do {                                       \
    const int rc = NEXT(name)(__VA_ARGS__);  \
    if (completed) __tsan_acquire(&environ); \
    return rc;                               \
  } while (0)

int MPI_Wait(MPI_Request* request, MPI_Status* status) { COMPLETE(MPI_Wait, 1, request, status); }
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  COMPLETE(MPI_Waitall, 1, count, requests, statuses);
}
int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  COMPLETE(MPI_Waitany, 1, count, requests, index, status);
}
int MPI_Waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  COMPLETE(MPI_Waitsome, 1, count, requests, done, indices, statuses);
}
int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) { COMPLETE(MPI_Test, *done, request, done, status); }
int MPI_Testall(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
  COMPLETE(MPI_Testall, *done, count, requests, done, statuses);
}
int MPI_Testany(int count, MPI_Request* requests, int* index, int* done, MPI_Status* status) {
  COMPLETE(MPI_Testany, *done, count, requests, index, done, status);
}
int MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  COMPLETE(MPI_Testsome, *done > 0, count, requests, done, indices, statuses);
}
