// A tool behind Antiphon that makes the library's MPI_Bcast and MPI_Ibcast take so many microseconds longer as the
// environment says (SLOW).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

static void be_slow(void) {
  const char* const slow_us = getenv("SLOW");
  if (slow_us != NULL) usleep((useconds_t)atoi(slow_us));
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  be_slow();
  const __typeof__(&MPI_Bcast) next = (__typeof__(&MPI_Bcast))dlsym(RTLD_NEXT, "PMPI_Bcast");
  return next(data, count, type, root, comm);
}

int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  be_slow();
  const __typeof__(&MPI_Ibcast) next = (__typeof__(&MPI_Ibcast))dlsym(RTLD_NEXT, "PMPI_Ibcast");
  return next(data, count, type, root, comm, request);
}
