/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves the start and the end of MPI to a library. Prints "verified". */
#include <mpi.h>
#include <stdio.h>

#include "verdict.h"

enum { count = 20000, calls = 40 };

void use_library(void);

int main(void) {
  static int data[count];
  int rank;
  long wrong = 0;
  use_library();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int call = 0; call < calls; call++) {
    for (int i = 0; i < count; i++) data[i] = rank == 0 ? call + i : 0;
    MPI_Bcast(data, count, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) wrong += data[i] != call + i;
  }
  tell_verdict(wrong);
  return 0;
}
