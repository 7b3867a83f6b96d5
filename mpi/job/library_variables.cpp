// SPDX-License-Identifier: Apache-2.0
#include "job/library_variables.hpp"

#include <mpi.h>

#include <algorithm>

#include "job/library.hpp"

namespace antiphon::mpi {

namespace {

/// Open MPI's own look-up. MPI_T finds the same, but has Open MPI 4 load all of its components first, each time anew: a
/// quarter of a second where ranks share cores.
struct OpenMpi {
  using Find = int (*)(const char* name, int* index);
  using GetValue = int (*)(int index, void* address_of_storage, void* source, void* file);
  Find find = nullptr;
  GetValue get_value = nullptr;

  static OpenMpi look_up() {
    return {reinterpret_cast<Find>(predefined_object("mca_base_var_find_by_name")),
            reinterpret_cast<GetValue>(predefined_object("mca_base_var_get_value"))};
  }

  [[nodiscard]] bool known() const { return find != nullptr && get_value != nullptr; }

  [[nodiscard]] std::optional<std::string> text(const char* name) const {
    int index = 0;
    const char* const* storage = nullptr;
    const bool found = find(name, &index) == 0 && get_value(index, &storage, nullptr, nullptr) == 0;
    return found && storage != nullptr && *storage != nullptr ? std::optional<std::string>(*storage) : std::nullopt;
  }
};

const OpenMpi& open_mpi() {
  static const OpenMpi one = OpenMpi::look_up();
  return one;
}

}  // namespace

LibraryVariables::LibraryVariables() {
  if (open_mpi().known()) return;
  int provided = 0;
  // The level may hold for the whole process, and the program must find the level that it asked for.
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  asks_tools_ = PMPI_T_init_thread(level, &provided) == MPI_SUCCESS;
}

LibraryVariables::~LibraryVariables() {
  if (asks_tools_) PMPI_T_finalize();
}

std::optional<std::string> LibraryVariables::text(const char* name) const {
  if (open_mpi().known()) return open_mpi().text(name);
  int index = 0;
  if (!asks_tools_ || PMPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return std::nullopt;
  int none = 0;
  int verbosity = 0;
  int bind = 0;
  int scope = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum values = MPI_T_ENUM_NULL;
  const bool is_text = PMPI_T_cvar_get_info(index, nullptr, &none, &verbosity, &type, &values, nullptr, &none, &bind,
                                            &scope) == MPI_SUCCESS &&
                       type == MPI_CHAR;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0;
  if (!is_text || PMPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return std::nullopt;
  // A library says how long a text may be at most, and not always truly.
  constexpr int least_room = 4096;
  std::string value(static_cast<std::size_t>(std::max(count, least_room)) + 1, '\0');
  const bool good = PMPI_T_cvar_read(handle, value.data()) == MPI_SUCCESS;
  PMPI_T_cvar_handle_free(&handle);
  if (!good) return std::nullopt;
  value.resize(std::char_traits<char>::length(value.c_str()));
  return value;
}

void LibraryVariables::set(const char* name, int value) const {
  int index = 0;
  int count = 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  if (!asks_tools_ || PMPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
      PMPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS)
    return;
  PMPI_T_cvar_write(handle, &value);
  PMPI_T_cvar_handle_free(&handle);
}

}  // namespace antiphon::mpi
