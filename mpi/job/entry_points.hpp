// SPDX-License-Identifier: Apache-2.0
// Every wrapped call enters this object by two names, so that it works below any tool of MPI's profiling interface.
//
//     program: MPI_X -> [tool: MPI_X ->] this object, by PMPI_X or MPI_X -> the library: PMPI_X
//
// A tool before this object calls PMPI_X, and so do Open MPI's Fortran bindings. A tool behind this object is handed
// what the program calls, and comes back by PMPI_X. A call that the library makes itself stays the library's.
#pragma once

#include "job/library.hpp"
#include "job/library_calls.gen.hpp"

/// Defines MPI_X and PMPI_X; do_X(next, arguments…) does the work. The names of arguments follow their declaration.
#define ANTIPHON_ENTRY_POINTS(name, parameters, ...)                                         \
  extern "C" ANTIPHON_EXPORT int MPI_##name parameters {                                     \
    find_library();                                                                          \
    if (tools_behind.name != nullptr) return tools_behind.name(__VA_ARGS__);                 \
    return do_##name(next_in_line.name __VA_OPT__(, ) __VA_ARGS__);                          \
  }                                                                                          \
  extern "C" ANTIPHON_EXPORT int by_profiling_name_##name parameters __asm__("PMPI_" #name); \
  extern "C" int by_profiling_name_##name parameters {                                       \
    find_library();                                                                          \
    if (library_code.holds(__builtin_return_address(0))) return library.name(__VA_ARGS__);   \
    return do_##name(library.name __VA_OPT__(, ) __VA_ARGS__);                               \
  }
