// SPDX-License-Identifier: Apache-2.0
// Errors of calls that say more than the standard's texts do.
#pragma once

#include <mpi.h>

#include <string>

namespace antiphon::mpi {

/// An MPI error code of one of the standard's classes, with a text of its own.
class ErrorText {
 public:
  explicit ErrorText(int error_class) : class_(error_class), code_(error_class) {}
  /// Returns the code, whose text is this one from now on.
  int code(const std::string& text);

 private:
  int class_;
  int code_;  ///< the class until the library has given out a code
};

/// Returns the code of a collective to which ranks gave counts that do not match.
int error_of_counts(const std::string& what);

}  // namespace antiphon::mpi
