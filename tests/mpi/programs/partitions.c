/* SPDX-License-Identifier: Apache-2.0 */
/* Partitioned messages beside a collective that is under way; prints "verified" if each wait for them ends well. */
#include <mpi.h>
#include <string.h>

#include "verdict.h"

#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
enum { parts = 4, part = 1000, most_ranks = 8 };

int main(int argc, char** argv) {
  static char sent[parts * part], got[parts * part];
  static int out[most_ranks], in[most_ranks];
  int rank, size;
  long wrong = 0;
  MPI_Request beside, both[2];
  MPI_Status statuses[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Precv_init(got, parts, part, MPI_CHAR, from, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
  MPI_Psend_init(sent, parts, part, MPI_CHAR, to, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
  for (int time = 0; time < 4; time++) {
    memset(sent, 10 * rank + time, sizeof sent);
    MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, &beside);
    MPI_Startall(2, both);
    for (int i = 0; i < parts; i++) MPI_Pready(i, both[1]);
    wrong += MPI_Waitall(2, both, time % 2 == 0 ? MPI_STATUSES_IGNORE : statuses) != MPI_SUCCESS;
    for (int i = 0; i < parts * part; i++) wrong += got[i] != 10 * from + time;
    MPI_Wait(&beside, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 2; i++) MPI_Request_free(&both[i]);
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
#else
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  tell_verdict(0);
  MPI_Finalize();
  return 0;
}
#endif
