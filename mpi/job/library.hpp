// SPDX-License-Identifier: Apache-2.0
// How a preload object finds the MPI library, to which it is not linked.
#pragma once

#include <atomic>

#define ANTIPHON_EXPORT __attribute__((visibility("default")))

namespace antiphon::mpi {

extern std::atomic<bool> library_found;

/// Puts the MPI library into the global scope if the program loaded it privately (Python extensions do): the scope of a
/// preloaded object is the global one. Quiet when there is no MPI library.
void load_library_globally() noexcept;

/// To be called before anything of MPI is used.
inline void find_library() {
  if (!library_found.load(std::memory_order_relaxed)) [[unlikely]]
    load_library_globally();
}

/// Where `symbol` is defined: all places in this process's objects, the one that the dynamic linker prefers first.
/// Fills at most `capacity` addresses and returns their number.
int find_symbol(const char* symbol, void** addresses, int capacity);

/// The address of one of Open MPI's predefined objects (what MPI_COMM_WORLD and the like stand for), or null without
/// Open MPI.
void* predefined_object(const char* symbol) noexcept;

}  // namespace antiphon::mpi
