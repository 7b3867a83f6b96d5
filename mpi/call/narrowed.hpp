// SPDX-License-Identifier: Apache-2.0
// Before MPI 4, counts and places are `int`.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "call/call.hpp"

namespace antiphon::mpi {

/// Makes counts and places of a call `int`. Give 0 as the length where they mean nothing (call/significant.hpp).
class Narrowed {
 public:
  int count(std::int64_t given, int length = 1);
  /// Returns a copy, unless the numbers are `int`. MPICH's nonblocking and persistent calls read arrays when they are
  /// called, so a copy need not live longer than the call that starts them.
  const int* array(const Integers& given, int length);
  /// Tells whether all numbers were small enough.
  [[nodiscard]] bool fits() const { return fits_; }

  /// Calls the library's function. If a number did not fit, that is an error of the communicator instead.
  template <typename... Types>
  int call(MPI_Comm comm, int (*function)(Types...), std::type_identity_t<Types>... arguments) {
    return fits_ ? function(arguments...) : too_large(comm);
  }

 private:
  static int too_large(MPI_Comm comm);

  std::vector<std::vector<int>> copies_;
  bool fits_ = true;
};

}  // namespace antiphon::mpi
