// SPDX-License-Identifier: Apache-2.0
#include "job/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "job/first_process.hpp"
#include "job/library_calls.gen.hpp"
#include "job/loaded_symbols.hpp"
#include "job/tools.hpp"
#include "job/warn.hpp"

namespace antiphon::mpi {

std::atomic<bool> library_found = false;
bool library_fits = true;
AddressRange library_code;
LibraryCalls library;
LibraryCalls tools_behind;
LibraryCalls next_in_line;

namespace {

static_assert(sizeof(LibraryCalls) == library_call_names.size() * sizeof(void*), "a table of functions, nothing else");

void** slots(LibraryCalls& calls) { return reinterpret_cast<void**>(&calls); }
void* const* slots(const LibraryCalls& calls) { return reinterpret_cast<void* const*>(&calls); }

/// Returns the file that holds an address, and null for this object itself.
const char* foreign_file_of(void* address) {
  Dl_info there{};
  Dl_info here{};
  if (address == nullptr || dladdr(address, &there) == 0 || dladdr(&library, &here) == 0) return nullptr;
  return there.dli_fbase == here.dli_fbase ? nullptr : there.dli_fname;
}

/// Returns the paths of all loaded objects except the program. They are collected first because dlopen is not allowed
/// while the list is locked.
std::vector<std::string> loaded_objects() {
  std::vector<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* list) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
          static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &names);
  return names;
}

/// Returns the ABI of the library in a file. Only Open MPI has this object; the standard ABI's file has its own name.
std::string abi_of(const std::string& file, void* handle) {
  if (file.find("libmpi_abi.so") != std::string::npos) return "mpiabi";
  return dlsym(handle, "ompi_mpi_comm_world") != nullptr ? "openmpi" : "mpich";
}

void warn_of_foreign(const std::string& file, const std::string& abi) {
  if (!is_first_process()) return;
  warn_left_alone("libantiphon-" ANTIPHON_ABI ".so does not fit " + file + " (hint: preload libantiphon-" + abi +
                  ".so, or let `antiphon run` choose)");
}

/// Stands for a function that the library lacks. Any arguments may be handed to it.
int missing_in_library() {
  warn("the program calls an MPI function that this MPI library does not have");
  return MPI_ERR_OTHER;
}

AddressRange code_of(void* function) {
  struct Search {
    std::uintptr_t address;
    AddressRange found;
  } search{reinterpret_cast<std::uintptr_t>(function), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          const AddressRange range{info->dlpi_addr + part.p_vaddr, part.p_memsz};
          if (part.p_type != PT_LOAD || wanted.address - range.start >= range.bytes) continue;
          wanted.found = range;
          return 1;
        }
        return 0;
      },
      &search);
  return search.found;
}

/// Tells whether a call has counts in arrays.
bool has_arrays(std::string_view call) {
  const auto is = [&](std::string_view part) { return call.find(part) != std::string_view::npos; };
  return is("catterv") || is("atherv") || is("toallv") || is("toallw") || (is("duce_scatter") && !is("block"));
}

/// Returns what stands for a call with large counts that the library lacks, but which mpi4py then finds here; null for
/// any other call. A foreign library's call with small counts takes the same words, except where they are arrays.
void* by_small_counts(void* handle, std::size_t i) {
  const std::string call = library_call_names[i];
  if (!call.ends_with("_c")) return nullptr;
  void* const small = dlsym(handle, ("PMPI_" + call.substr(0, call.size() - 2)).c_str());
  if (small != nullptr && library_fits) return slots(narrow_calls)[i];
  return has_arrays(call) ? nullptr : small;
}

/// Fills in one call's row of the three tables.
void find_call(void* handle, std::size_t i) {
  const std::string name = std::string("MPI_") + library_call_names[i];
  const std::string profiling_name = 'P' + name;
  void* own = dlsym(handle, profiling_name.c_str());
  if (own == nullptr) own = by_small_counts(handle, i);
  slots(library)[i] = own != nullptr ? own : reinterpret_cast<void*>(&missing_in_library);
  slots(next_in_line)[i] = slots(library)[i];
  void* const by_library = dlsym(handle, name.c_str());
  note_tool_before(dlsym(RTLD_DEFAULT, name.c_str()), by_library);
  void* const behind = dlsym(RTLD_NEXT, name.c_str());
  if (behind == nullptr || behind == by_library || foreign_file_of(behind) == nullptr) return;
  const bool comes_back = imports(behind, profiling_name.c_str());
  note_tool_behind(behind, comes_back);
  slots(comes_back ? tools_behind : next_in_line)[i] = behind;
}

}  // namespace

void* next_definition(const char* symbol) {
  void* const next = dlsym(RTLD_NEXT, symbol);
  if (foreign_file_of(next) != nullptr) return next;
  for (const auto& name : loaded_objects()) {
    void* const handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* const found = dlsym(handle, symbol);
    dlclose(handle);
    if (foreign_file_of(found) != nullptr) return found;
  }
  return nullptr;
}

void load_library() noexcept {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (library_found.load(std::memory_order_relaxed)) return;
  const char* const found = foreign_file_of(next_definition("PMPI_Init"));
  const std::string file = found != nullptr ? found : "";
  void* handle = file.empty() ? nullptr : dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return;
  const std::string abi = abi_of(file, handle);
  library_fits = abi == ANTIPHON_ABI;
  // The handle stays open because this object's references are bound to the library from here on.
  if (library_fits) handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  for (std::size_t i = 0; i < library_call_names.size(); ++i) find_call(handle, i);
  library_code = code_of(reinterpret_cast<void*>(library.Init));
  library_found.store(true, std::memory_order_release);
  if (!library_fits) warn_of_foreign(file, abi);
}

void* predefined_object(const char* symbol) noexcept {
  find_library();
  return dlsym(RTLD_DEFAULT, symbol);
}

}  // namespace antiphon::mpi
