/* SPDX-License-Identifier: Apache-2.0 */
/* Ends with an MPI_Finalize that takes argv[1] seconds: the library's own is hidden by the one below. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned seconds;

int PMPI_Finalize(void) {
  sleep(seconds);
  _exit(7); /* the launcher sees the end of this rank, and what the program has printed is lost if it was kept */
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
  setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
  printf("rank %d is done\n", rank);
  MPI_Finalize();
  return 0;
}
