/* SPDX-License-Identifier: Apache-2.0 */
/* A library before MPI's whose MPI_Finalize does its work and then says that it failed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

int MPI_Finalize(void) {
  int (*const next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "PMPI_Finalize");
  next();
  return MPI_ERR_OTHER;
}
