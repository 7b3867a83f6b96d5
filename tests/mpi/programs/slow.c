// A tool behind Antiphon that makes the library's MPI_Bcast slow if the environment has SLOW.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { slow_us = 20000 };

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (getenv("SLOW") != NULL) usleep(slow_us);
  const __typeof__(&MPI_Bcast) next = (__typeof__(&MPI_Bcast))dlsym(RTLD_NEXT, "PMPI_Bcast");
  return next(data, count, type, root, comm);
}
