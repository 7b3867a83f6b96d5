// SPDX-License-Identifier: Apache-2.0
#include "job/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <string>
#include <vector>

namespace antiphon::mpi {

std::atomic<bool> library_found = false;

namespace {

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

}  // namespace

int find_symbol(const char* symbol, void** addresses, int capacity) {
  int found = 0;
  const auto add = [&](void* address) {
    if (address == nullptr || found == capacity) return;
    if (std::find(addresses, addresses + found, address) == addresses + found) addresses[found++] = address;
  };
  add(dlsym(RTLD_DEFAULT, symbol));
  for (const auto& name : loaded_objects()) {
    void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    add(dlsym(handle, symbol));
    dlclose(handle);
  }
  return found;
}

void load_library_globally() noexcept {
  if (dlsym(RTLD_DEFAULT, "PMPI_Init") == nullptr) {
    void* init = nullptr;
    Dl_info library{};
    if (find_symbol("PMPI_Init", &init, 1) == 0 || dladdr(init, &library) == 0) return;
    // The handle stays open because this object's references are bound to the library from here on.
    if (dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL) == nullptr) return;
  }
  library_found.store(true, std::memory_order_relaxed);
}

void* predefined_object(const char* symbol) noexcept {
  find_library();
  return dlsym(RTLD_DEFAULT, symbol);
}

}  // namespace antiphon::mpi
