/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose greatest tag is GREATEST. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* found) {
  static int greatest = GREATEST;
  int (*of_library)(MPI_Comm, int, void*, int*);
  *(void**)&of_library = dlsym(RTLD_NEXT, "PMPI_Comm_get_attr");
  const int result = of_library(comm, keyval, value, found);
  if (keyval == MPI_TAG_UB) *(int**)value = &greatest;
  return result;
}
