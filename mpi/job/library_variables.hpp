// SPDX-License-Identifier: Apache-2.0
// Control variables of the MPI library (MPI_T): its settings, whatever file, option or environment they came from.
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

  /// Returns a variable that is true or false; nothing where the library has no such variable.
  [[nodiscard]] std::optional<bool> flag(const char* name) const;
  /// Returns a variable of type char; nothing where the library has no such variable.
  [[nodiscard]] std::optional<std::string> text(const char* name) const;

 private:
  bool usable_ = false;
};

}  // namespace antiphon::mpi
