// SPDX-License-Identifier: Apache-2.0
#include "job/library_traits.hpp"

#include <mpi.h>

#include "job/library_variables.hpp"

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

bool library_may_stay_in_finalize() {
  const std::string version = library_version();
  return !library_restarts_requests() && version.find("ch4:ucx") != std::string::npos;
}

bool library_yields() { return LibraryVariables().flag("mpi_yield_when_idle").value_or(false); }

}  // namespace antiphon::mpi
