// SPDX-License-Identifier: Apache-2.0
#include "job/library_traits.hpp"

#include <mpi.h>

namespace antiphon::mpi {

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  PMPI_Get_library_version(text, &length);
  return text;
}

std::string library_name() {
  const std::string version = library_version();
  if (version.rfind("Open MPI", 0) == 0) return "openmpi";
  return version.rfind("MPICH", 0) == 0 ? "mpich" : "";
}

bool library_restarts_requests() {
  const std::string version = library_version();
  return version.rfind("MPICH", 0) != 0 || version.find("\t4.0") == std::string::npos;
}

bool library_yields() {
  int provided = 0;
  int index = 0;
  int value = 0;
  // Open MPI takes this level for the whole process, and the program must find the level that it asked for.
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  if (PMPI_T_init_thread(level, &provided) != MPI_SUCCESS) return false;
  if (PMPI_T_cvar_get_index("mpi_yield_when_idle", &index) == MPI_SUCCESS) {
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int count = 0;
    if (PMPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS) {
      if (count == 1) PMPI_T_cvar_read(handle, &value);
      PMPI_T_cvar_handle_free(&handle);
    }
  }
  PMPI_T_finalize();
  return value != 0;
}

}  // namespace antiphon::mpi
