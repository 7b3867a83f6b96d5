/* SPDX-License-Identifier: Apache-2.0 */
/* Prints into a buffer and ends. With an argument, MPI_Finalize first does the program's own work for 3 s. If it fails,
 * the program works for 3 s afterwards. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int work(MPI_Comm comm, int keyval, void* rank, void* extra) {
  sleep(3);
  printf("rank %d has worked\n", *(int*)rank);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  static int rank;
  int keyval;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
  printf("rank %d is done\n", rank);
  if (argc > 1) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, work, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &rank);
  }
  if (MPI_Finalize() != MPI_SUCCESS) sleep(3);
  return 0;
}
