// SPDX-License-Identifier: Apache-2.0
// Every wrapped call enters this object by two names, so that it works below any tool of MPI's profiling interface.
//
//     program: MPI_X -> [tool: MPI_X ->] this object, by PMPI_X or MPI_X -> the library: PMPI_X
//
// A tool before this object calls PMPI_X, and so do Open MPI's Fortran bindings. A tool behind this object is handed
// what the program calls, and comes back by PMPI_X. A call that the library makes itself stays the library's.
#pragma once

#include <cstdint>
#include <type_traits>

#include "job/library.hpp"
#include "job/library_calls.gen.hpp"

namespace antiphon::mpi {

/// What a caller hands over as one argument. Handles differ in width between ABIs, but wherever this is built, every
/// argument of MPI (a number, a handle or a pointer) has a whole register or a whole word of the stack.
using Word = std::uintptr_t;
static_assert(sizeof(Word) == 8, "narrower machines pass some arguments in two words");

template <typename T>
T from_word(Word word) {
  if constexpr (std::is_pointer_v<T>) return reinterpret_cast<T>(word);
  else return static_cast<T>(word);
}

/// Calls `function` with words as the arguments that it takes.
template <typename Next, typename... Types, typename... Words>
[[gnu::always_inline]] inline int typed(int (*function)(Next, Types...), std::type_identity_t<Next> next,
                                        Words... words) {
  return function(next, from_word<Types>(words)...);
}

template <typename Untyped>
Untyped untyped(auto function) {
  return reinterpret_cast<Untyped>(reinterpret_cast<void (*)()>(function));
}

}  // namespace antiphon::mpi

/// Defines MPI_X and PMPI_X; do_X(next, arguments…) does the work. `words` declares the arguments as words, and their
/// names follow. Under a library of another ABI they go on to it as they came.
#define ANTIPHON_ENTRY_POINTS(name, words, ...)                                                \
  extern "C" ANTIPHON_EXPORT int by_name_##name words __asm__("MPI_" #name);                   \
  extern "C" int by_name_##name words {                                                        \
    using Untyped = int(*) words;                                                              \
    const bool fits = find_library();                                                          \
    if (tools_behind.name != nullptr) return untyped<Untyped>(tools_behind.name)(__VA_ARGS__); \
    if (!fits) return untyped<Untyped>(next_in_line.name)(__VA_ARGS__);                        \
    return typed(do_##name, next_in_line.name __VA_OPT__(, ) __VA_ARGS__);                     \
  }                                                                                            \
  extern "C" ANTIPHON_EXPORT int by_profiling_name_##name words __asm__("PMPI_" #name);        \
  extern "C" int by_profiling_name_##name words {                                              \
    using Untyped = int(*) words;                                                              \
    if (!find_library() || library_code.holds(__builtin_return_address(0)))                    \
      return untyped<Untyped>(library.name)(__VA_ARGS__);                                      \
    return typed(do_##name, library.name __VA_OPT__(, ) __VA_ARGS__);                          \
  }
