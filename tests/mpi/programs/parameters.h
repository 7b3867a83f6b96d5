/* SPDX-License-Identifier: Apache-2.0 */
/* What the library's parameters are in a run. */
#include <mpi.h>

/* Returns a parameter's value, or -1 if the library has none of this name. */
static long parameter(const char* name) {
  int index, count, level;
  long value = -1;
  MPI_T_cvar_handle handle;
  MPI_Query_thread(&level);
  MPI_T_init_thread(level, &level);
  if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS) {
    value = 0; /* shorter types fill its beginning */
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    MPI_T_cvar_read(handle, &value);
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return value;
}
