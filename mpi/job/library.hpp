// SPDX-License-Identifier: Apache-2.0
// A preload object is not linked to the MPI library; these functions find the library, and the tools around it.
#pragma once

#include <atomic>
#include <cstdint>

#define ANTIPHON_EXPORT __attribute__((visibility("default")))

namespace antiphon::mpi {

extern std::atomic<bool> library_found;
/// A library of another ABI has other handles and constants: this object must keep out of its process.
extern bool library_fits;

/// Finds the library's functions, and puts the library into the global scope if the program loaded it privately (Python
/// extensions do), because a preloaded object resolves its symbols in the global scope. Does nothing if there is no MPI
/// library. Says so if the library does not fit.
void load_library() noexcept;

/// Must be called before any MPI function is used. Returns whether the library fits.
inline bool find_library() {
  if (!library_found.load(std::memory_order_acquire)) [[unlikely]]
    load_library();
  return library_fits;
}

/// Returns where the symbol is defined next, behind this object; null if it is nowhere else.
void* next_definition(const char* symbol);

/// The memory that the library's code lies in.
struct AddressRange {
  std::uintptr_t start = 0;
  std::uintptr_t bytes = 0;

  [[nodiscard]] bool holds(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - start < bytes;
  }
};
extern AddressRange library_code;

/// Returns the address of one of Open MPI's predefined objects (MPI_COMM_WORLD and the like stand for them) or of
/// another of its symbols; null without Open MPI.
void* predefined_object(const char* symbol) noexcept;

}  // namespace antiphon::mpi
