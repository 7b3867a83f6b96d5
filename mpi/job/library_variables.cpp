// SPDX-License-Identifier: Apache-2.0
#include "job/library_variables.hpp"

#include <mpi.h>

#include <algorithm>

namespace antiphon::mpi {

namespace {

/// Reads a variable into a buffer that `make` provides for the variable's number of elements.
template <typename Make>
bool read(const char* name, MPI_Datatype wanted, Make make) {
  int index = 0;
  if (PMPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return false;
  int none = 0;
  int verbosity = 0;
  int bind = 0;
  int scope = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum values = MPI_T_ENUM_NULL;
  if (PMPI_T_cvar_get_info(index, nullptr, &none, &verbosity, &type, &values, nullptr, &none, &bind, &scope) !=
          MPI_SUCCESS ||
      type != wanted)
    return false;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0;
  if (PMPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return false;
  void* const buffer = make(count);
  const bool good = buffer != nullptr && PMPI_T_cvar_read(handle, buffer) == MPI_SUCCESS;
  PMPI_T_cvar_handle_free(&handle);
  return good;
}

}  // namespace

LibraryVariables::LibraryVariables() {
  int provided = 0;
  // Open MPI takes this level for the whole process, and the program must find the level that it asked for.
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  usable_ = PMPI_T_init_thread(level, &provided) == MPI_SUCCESS;
}

LibraryVariables::~LibraryVariables() {
  if (usable_) PMPI_T_finalize();
}

std::optional<bool> LibraryVariables::flag(const char* name) const {
  int number = 0;
  bool truth = false;
  const auto as_int = [&](int count) -> void* { return count == 1 ? &number : nullptr; };
  const auto as_bool = [&](int count) -> void* { return count == 1 ? &truth : nullptr; };
  if (!usable_) return std::nullopt;
  // Open MPI has had both types for such variables.
  if (read(name, MPI_C_BOOL, as_bool)) return truth;
  if (read(name, MPI_INT, as_int)) return number != 0;
  return std::nullopt;
}

std::optional<std::string> LibraryVariables::text(const char* name) const {
  std::string value;
  const auto room = [&](int count) -> void* {
    // Open MPI says how long a text may be at most, and not always truly.
    value.resize(static_cast<std::size_t>(std::max(count, 4096)) + 1);
    return value.data();
  };
  if (!usable_ || !read(name, MPI_CHAR, room)) return std::nullopt;
  value.resize(std::char_traits<char>::length(value.c_str()));
  return value;
}

}  // namespace antiphon::mpi
