/* SPDX-License-Identifier: Apache-2.0 */
/* crowded: prints MPICH's parameter for waiting ranks ("gives 0" or "gives 1"), whether a program that this one starts
 * would inherit it, and how many cores the ranks have together. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const char* const name = "MPIR_CVAR_CH4_PROGRESS_THROTTLE";
  int rank, index, count, level, value = -1;
  MPI_T_cvar_handle handle;
  cpu_set_t cores;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
  if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS) {
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    MPI_T_cvar_read(handle, &value);
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  sched_getaffinity(0, sizeof cores, &cores);
  if (rank == 0) printf("gives %d inherited %s cores %d\n", value, getenv(name) ? "yes" : "no", CPU_COUNT(&cores));
  MPI_Finalize();
  return 0;
}
