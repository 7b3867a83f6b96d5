/* SPDX-License-Identifier: Apache-2.0 */
/* A library that starts MPI when it is used, or with START_EARLY when it is loaded. It ends it when the program ends.
 */
#include <mpi.h>
#include <stdlib.h>

static void start(void) { MPI_Init(NULL, NULL); }

void use_library(void) {
  if (getenv("START_EARLY") == NULL) start();
}

__attribute__((constructor)) static void start_early(void) {
  if (getenv("START_EARLY") != NULL) start();
}
__attribute__((destructor)) static void end(void) { MPI_Finalize(); }
