// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

struct Kind;

/// All collectives that can be measured, as MPI names them.
std::vector<std::string> collective_names();
/// Whether the collective moves blocks of a size at all (MPI_Barrier does not).
bool has_bytes(std::string_view collective);
/// Whether calls through `comm` would exceed what MPI's int counts and displacements can say.
bool fits_int_counts(std::string_view collective, std::int64_t bytes, MPI_Comm comm);

/// One collective at one size: its buffers, the call, and the check of its result.
///
/// `bytes` is one block (what one rank sends to one other) for those that move blocks, and the whole message for bcast,
/// reduce, allreduce, scan and exscan. Reductions sum doubles, or ints or bytes where the size is no multiple of 8
/// or 4.
class Workload {
 public:
  Workload(std::string_view collective, std::int64_t bytes, int root, MPI_Comm comm);

  [[nodiscard]] std::string_view collective() const;
  /// Fills the input and spoils the output.
  void prepare();
  /// The collective call.
  void call(MPI_Comm comm);
  /// Number of wrong elements in this rank's result of the first call after prepare().
  [[nodiscard]] std::int64_t wrong_elements() const;

 private:
  friend struct Calls;
  const Kind* kind_;
  int count_;  ///< elements in a block
  int rank_ = 0;
  int size_ = 1;
  int root_;
  MPI_Datatype type_;
  std::vector<unsigned char> input_, output_;
  std::vector<int> counts_, offsets_;
};

}  // namespace bench
