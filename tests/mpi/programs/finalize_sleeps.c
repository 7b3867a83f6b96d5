/* SPDX-License-Identifier: Apache-2.0 */
/* A library before MPI's whose MPI_Finalize, after the program's part of it, takes FINALIZE_TAKES seconds, and then
 * ends the rank with code 7. With FINALIZE_STOPS, the rank is stopped for 2 seconds before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Stops this process for 2 seconds, as a batch system does that runs another job meanwhile. */
static void stop(void) {
  if (fork() == 0) {
    sleep(2);
    kill(getppid(), SIGCONT);
    _exit(0);
  }
  raise(SIGSTOP);
}

static int stay(MPI_Comm comm, int keyval, void* value, void* extra) {
  if (getenv("FINALIZE_STOPS") != NULL) stop();
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
