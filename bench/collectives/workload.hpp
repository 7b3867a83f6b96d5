// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

struct Kind;

/// All collectives that can be measured, by their MPI names.
std::vector<std::string> collective_names();
/// Tells whether the collective moves blocks of some size (MPI_Barrier does not).
bool has_bytes(std::string_view collective);
/// Tells whether MPI's int counts and displacements can describe the call on `comm`.
bool fits_int_counts(std::string_view collective, std::int64_t bytes, MPI_Comm comm);
/// Returns the bytes of a rank's buffers for the call.
std::int64_t buffer_bytes(std::string_view collective, std::int64_t bytes, int rank, int size, int root);

/// How calls are made, and what they carry.
struct Manner {
  bool nonblocking = false;  ///< a call is the nonblocking collective, waited for at once
  bool field = false;        ///< blocks that are moved hold a field of doubles with noise, and not counted bytes
};

/// One collective at one size: its buffers, the call, and the check of its result.
///
/// `bytes` is one block (what one rank sends to another) for collectives that move blocks, and the whole message for
/// bcast, reduce, allreduce, scan and exscan. Reductions sum doubles, or ints or bytes if the size is no multiple of 8
/// or 4.
class Workload {
 public:
  Workload(std::string_view collective, std::int64_t bytes, int root, const Manner& manner, MPI_Comm comm);

  [[nodiscard]] std::string_view collective() const;
  /// Fills the input and overwrites the output with wrong values.
  void prepare();
  /// Makes the collective call; `blocking`: the blocking one whatever the manner is.
  void call(MPI_Comm comm, bool blocking = false);
  /// Starts the nonblocking collective.
  MPI_Request start(MPI_Comm comm);
  /// Number of wrong elements in this rank's result of the first call after prepare().
  [[nodiscard]] std::int64_t wrong_elements() const;

 private:
  friend struct Calls;
  [[nodiscard]] unsigned char moved(int from, int to, std::int64_t i) const;
  const Kind* kind_;
  int count_;  ///< elements in a block
  int rank_ = 0;
  int size_ = 1;
  int root_;
  Manner manner_;
  MPI_Datatype type_;
  std::vector<unsigned char> input_, output_;
  std::vector<int> counts_, offsets_;
};

}  // namespace bench
