// SPDX-License-Identifier: Apache-2.0
// A request of an operation is one of the library's own: a receive of an empty message from this rank itself, which is
// sent when the operation is complete. So everything that can be done with requests works on it, beside any others, and
// the library keeps their meaning. (Generalized requests are made for this, but not all of MPICH's calls take them.)
#pragma once

#include <mpi.h>

namespace antiphon::mpi {

class ProgramRequest {
 public:
  /// Makes a request that is under way from now on, until end(). Returns an MPI error code.
  int begin(MPI_Request* request);
  /// Makes a persistent request, for the program to start again and again, until free(). Returns an MPI error code.
  int init(MPI_Request* request);
  /// Ends the request. If `rc` is an error, calls that complete the request return one, too.
  void end(int rc);
  /// The program will not start the persistent request again. Without a request it does nothing.
  void free();

 private:
  int take_tag(bool lasts);

  static constexpr int none = -1;

  int tag_ = none;
  bool lasts_ = false;
};

}  // namespace antiphon::mpi
