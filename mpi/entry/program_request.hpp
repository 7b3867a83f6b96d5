// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

namespace antiphon::mpi {

/// Holds a request that the program waits for and that ends when we say so: a generalized request of the library.
class ProgramRequest {
 public:
  /// Makes the request, which is under way from now on. Returns an MPI error code.
  int begin(MPI_Request* request);
  /// Ends it: calls that complete it return `rc`.
  void end(int rc);

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;
  int* result_ = nullptr;  ///< the library's to free, with the request
};

}  // namespace antiphon::mpi
