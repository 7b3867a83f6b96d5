/* SPDX-License-Identifier: Apache-2.0 */
/* Prints into a buffer and ends. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
  printf("rank %d is done\n", rank);
  MPI_Finalize();
  return 0;
}
