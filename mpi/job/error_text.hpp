// SPDX-License-Identifier: Apache-2.0
// Errors of calls that say more than the standard's texts do. All is inline: programs that link mpi/run alone need it.
#pragma once

#include <mpi.h>

#include <mutex>
#include <string>

namespace antiphon::mpi {

/// An MPI error code of one of the standard's classes, with a text of its own.
class ErrorText {
 public:
  explicit ErrorText(int error_class) : class_(error_class), code_(error_class) {}

  /// Returns the code, whose text is this one from now on.
  int code(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (code_ == class_ && PMPI_Add_error_code(class_, &code_) != MPI_SUCCESS) return class_;
    const std::string fits = text.substr(0, MPI_MAX_ERROR_STRING - 1);
    PMPI_Add_error_string(code_, fits.c_str());
    return code_;
  }

 private:
  std::mutex mutex_;
  int class_;
  int code_;  ///< the class until the library has given out a code
};

/// Returns the code of a collective to which ranks gave counts that do not match.
inline int error_of_counts(const std::string& what) {
  static ErrorText counts(MPI_ERR_TRUNCATE);
  return counts.code("Antiphon: counts do not match: " + what);
}

}  // namespace antiphon::mpi
