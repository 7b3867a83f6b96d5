// A tool behind Antiphon that makes the library's MPI_Bcast take so many microseconds longer as the environment says
// (SLOW).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const char* const slow_us = getenv("SLOW");
  if (slow_us != NULL) usleep((useconds_t)atoi(slow_us));
  const __typeof__(&MPI_Bcast) next = (__typeof__(&MPI_Bcast))dlsym(RTLD_NEXT, "PMPI_Bcast");
  return next(data, count, type, root, comm);
}
