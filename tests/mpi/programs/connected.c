/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks end beside one that they have spawned, to which they stay connected, and which works for 2 s more. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int sent[3] = {0}, got[3];
  MPI_Comm parent, both, merged;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  const int spawned = parent != MPI_COMM_NULL;
  both = parent;
  if (!spawned) MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &both, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(both, spawned, &merged);
  /* Open MPI fails if MPI_Finalize is where two of them first speak to each other. */
  MPI_Alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, merged);
  if (spawned) {
    sleep(2);
    printf("verified\n");
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
