// SPDX-License-Identifier: Apache-2.0
// Control variables of the MPI library: its settings, whatever file, option or environment they came from.
#pragma once

#include <optional>
#include <string>

namespace antiphon::mpi {

class LibraryVariables {
 public:
  LibraryVariables();
  ~LibraryVariables();
  LibraryVariables(const LibraryVariables&) = delete;
  LibraryVariables& operator=(const LibraryVariables&) = delete;

  /// Returns a variable that is a text; nothing where the library has no such variable, or does not use the part of it
  /// that has.
  [[nodiscard]] std::optional<std::string> text(const char* name) const;

  /// Sets a whole number of MPICH's; does nothing where the library has no such variable.
  void set(const char* name, int value) const;

 private:
  bool asks_tools_ = false;  ///< MPI_T is in use
};

}  // namespace antiphon::mpi
