// SPDX-License-Identifier: Apache-2.0
// The MPI library's own functions. Where Antiphon is preloaded, it takes the calls of PMPI_X as well as those of MPI_X.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

namespace bench {

inline void* library_symbol(const char* name) {
  // Antiphon does not define this one, so it shows where the library is.
  static void* const library = [] {
    Dl_info found{};
    void* const function = dlsym(RTLD_DEFAULT, "PMPI_Comm_rank");
    return dladdr(function, &found) != 0 ? dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  }();
  return dlsym(library, name);
}

}  // namespace bench

/// LIBRARY(PMPI_Barrier)(comm) calls the library's function.
#define LIBRARY(function)                                                                             \
  ([] {                                                                                               \
    static auto* const own = reinterpret_cast<decltype(&function)>(bench::library_symbol(#function)); \
    return own;                                                                                       \
  }())
