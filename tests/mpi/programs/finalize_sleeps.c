/* SPDX-License-Identifier: Apache-2.0 */
/* A library before MPI's whose MPI_Finalize takes FINALIZE_TAKES seconds, and then ends the rank with code 7. */
#include <stdlib.h>
#include <unistd.h>

int MPI_Finalize(void) {
  sleep((unsigned)atoi(getenv("FINALIZE_TAKES")));
  _exit(7);
}
