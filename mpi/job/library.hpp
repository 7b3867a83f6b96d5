// SPDX-License-Identifier: Apache-2.0
// A preload object is not linked to the MPI library; these functions find the library.
#pragma once

#include <atomic>

#define ANTIPHON_EXPORT __attribute__((visibility("default")))

namespace antiphon::mpi {

extern std::atomic<bool> library_found;

/// Puts the MPI library into the global scope if the program loaded it privately (Python extensions do), because a
/// preloaded object resolves its symbols in the global scope. Does nothing if there is no MPI library.
void load_library_globally() noexcept;

/// Must be called before any MPI function is used.
inline void find_library() {
  if (!library_found.load(std::memory_order_relaxed)) [[unlikely]]
    load_library_globally();
}

/// Finds where `symbol` is defined in this process's objects; the place that the dynamic linker prefers comes first.
/// Fills at most `capacity` addresses and returns their number.
int find_symbol(const char* symbol, void** addresses, int capacity);

/// Returns the address of one of Open MPI's predefined objects (MPI_COMM_WORLD and the like stand for them), or null
/// without Open MPI.
void* predefined_object(const char* symbol) noexcept;

}  // namespace antiphon::mpi
