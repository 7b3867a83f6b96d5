/* SPDX-License-Identifier: Apache-2.0 */
/* A library before MPI's whose MPI_Finalize, after the program's part of it, takes FINALIZE_TAKES seconds, and then
 * ends the rank with code 7. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

static int stay(MPI_Comm comm, int keyval, void* value, void* extra) {
  sleep((unsigned)atoi(getenv("FINALIZE_TAKES")));
  _exit(7);
}

/* What is set first is deleted last, so this is before any other library has seen that MPI has started. */
int MPI_Init(int* argc, char*** argv) {
  int keyval;
  int (*const next)(int*, char***) = (int (*)(int*, char***))dlsym(RTLD_NEXT, "PMPI_Init");
  const int rc = next(argc, argv);
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, stay, &keyval, NULL);
  PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  return rc;
}
