/* SPDX-License-Identifier: Apache-2.0 */
/* crowded: prints MPICH's parameter for waiting ranks ("gives 0" or "gives 1"), whether a program that this one starts
 * would inherit it, and how many cores the ranks have together. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "parameters.h"

int main(int argc, char** argv) {
  const char* const name = "MPIR_CVAR_CH4_PROGRESS_THROTTLE";
  int rank;
  cpu_set_t cores;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  sched_getaffinity(0, sizeof cores, &cores);
  if (rank == 0)
    printf("gives %ld inherited %s cores %d\n", parameter(name), getenv(name) ? "yes" : "no", CPU_COUNT(&cores));
  MPI_Finalize();
  return 0;
}
