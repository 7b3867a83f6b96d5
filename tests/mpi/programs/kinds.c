/* SPDX-License-Identifier: Apache-2.0 */
/* Types made of types of Fortran's kinds, and arguments that only a root has. Prints "verified". */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "verdict.h"

enum { count = 3000, most_ranks = 16 };

static int rank, size;
static long wrong;

static void of_kinds(void) {
  static double data[2 * count];
  MPI_Datatype kind, spaced;
  MPI_Type_create_f90_real(15, MPI_UNDEFINED, &kind);
  MPI_Type_vector(count, 1, 2, kind, &spaced);
  MPI_Type_commit(&spaced);
  for (int i = 0; i < 2 * count; i++) data[i] = rank == 0 ? i : -1;
  MPI_Bcast(data, 1, spaced, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 2 * count; i++) wrong += data[i] != (rank == 0 || i % 2 == 0 ? i : -1);
  MPI_Type_free(&spaced);
}

/* Elsewhere these are what happens to be there, as the root alone must look at them. */
static void of_root(void) {
  static int mine[count], all[most_ranks * count];
  MPI_Datatype of_root_only;
  MPI_Request request;
  memset(&of_root_only, rank == 0 ? 0 : 0x11, sizeof of_root_only);
  if (rank == 0) {
    MPI_Type_contiguous(count, MPI_INT, &of_root_only);
    MPI_Type_commit(&of_root_only);
  }
  for (int i = 0; i < count; i++) mine[i] = rank + i;
  MPI_Igather(mine, count, MPI_INT, all, 1, of_root_only, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; rank == 0 && i < size * count; i++) wrong += all[i] != i / count + i % count;
  MPI_Iscatter(all, 1, of_root_only, mine, count, MPI_INT, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; i++) wrong += mine[i] != rank + i;
#if MPI_VERSION >= 4
  MPI_Gather_init(mine, count, MPI_INT, all, 1, of_root_only, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; rank == 0 && i < size * count; i++) wrong += all[i] != i / count + i % count;
  MPI_Request_free(&request);
#endif
  if (rank == 0) MPI_Type_free(&of_root_only);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  of_kinds();
  of_root();
  tell_verdict(wrong);
  MPI_Finalize();
  return 0;
}
