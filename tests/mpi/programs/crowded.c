/* SPDX-License-Identifier: Apache-2.0 */
/* crowded: prints whether the library's waiting ranks give their cores away ("gives 0" or "gives 1"), whether a program
 * that this one starts would inherit that, and how many cores the ranks have together. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "parameters.h"

#ifdef OPEN_MPI
static const char* const name = "OMPI_MCA_mpi_yield_when_idle";
static long gives(void) {
  const char* const record = dlsym(RTLD_DEFAULT, "opal_progress_yield_when_idle");
  return record != NULL && *record != 0;
}
#else
static const char* const name = "MPIR_CVAR_CH4_PROGRESS_THROTTLE";
static long gives(void) { return parameter(name); }
#endif

int main(int argc, char** argv) {
  int rank;
  cpu_set_t cores;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  sched_getaffinity(0, sizeof cores, &cores);
  if (rank == 0) printf("gives %ld inherited %s cores %d\n", gives(), getenv(name) ? "yes" : "no", CPU_COUNT(&cores));
  MPI_Finalize();
  return 0;
}
