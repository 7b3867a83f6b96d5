// SPDX-License-Identifier: Apache-2.0
#include "job/library_traits.hpp"

#include <mpi.h>

#include <string_view>

#include "job/library.hpp"

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

bool library_throttles_polling() {
  const std::string version = library_version();
  const std::size_t number = version.find_first_of("0123456789");
  return version.rfind("MPICH", 0) == 0 && number != std::string::npos && std::atoi(version.c_str() + number) >= 5;
}

bool library_orders_ids() { return library_name() == "openmpi"; }

bool library_connects_late() { return library_name() == "openmpi"; }

bool library_may_stay_in_finalize() {
  const std::string version = library_version();
  return !library_restarts_requests() && version.find("ch4:ucx") != std::string::npos;
}

bool library_messages_are_known_within_nodes() {
  if (library_name() != "openmpi") return true;
  // Open MPI's record of the component that it selected: numbers, then names, which end with zeros.
  constexpr std::size_t record_bytes = 192;
  const void* const record = predefined_object("mca_pml_base_selected_component");
  if (record == nullptr) return false;
  constexpr std::string_view wanted("\0ob1\0", 5);
  return std::string_view(static_cast<const char*>(record), record_bytes).find(wanted) != std::string_view::npos;
}

bool library_survives_failures() {
  const void* const enabled = predefined_object("ompi_ftmpi_enabled");
  return enabled != nullptr && *static_cast<const bool*>(enabled);
}

bool ranks_are_threads(MPI_Comm comm) {
  using Test = int(MPI_Comm comm, int* flag);
  static auto* const test = reinterpret_cast<Test*>(next_definition("PMPIX_Comm_test_threadcomm"));
  int flag = 0;
  return test != nullptr && test(comm, &flag) == MPI_SUCCESS && flag != 0;
}

bool library_yields() {
  // Open MPI's own record: version 5 gives cores away on crowded nodes, whatever its variable says.
  const void* const record = predefined_object("opal_progress_yield_when_idle");
  return record != nullptr && *static_cast<const bool*>(record);
}

void make_library_yield() {
  using SetYields = bool(bool yields);
  auto* const set = reinterpret_cast<SetYields*>(next_definition("opal_progress_set_yield_when_idle"));
  if (set != nullptr) set(true);
}

}  // namespace antiphon::mpi
