// SPDX-License-Identifier: Apache-2.0
// One collective call as the program made it, in one form for all bindings, and the entry point that every wrapper uses.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "antiphon/problem.hpp"

namespace antiphon::mpi {

/// An array of counts or displacements: `int` in the classic bindings, MPI_Count or MPI_Aint in the large-count ones.
class Integers {
 public:
  Integers() = default;
  Integers(const int* values) : small_(values) {}                         // NOLINT(google-explicit-constructor)
  Integers(const long* values) : large_(values) {}                        // NOLINT: MPI_Aint, MPI_Count where it is long
  Integers(const long long* values)                                       // NOLINT: MPI_Count where it is long long
      : large_(reinterpret_cast<const long*>(values)) {
    static_assert(sizeof(long) == sizeof(long long));
  }
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const { return small_ != nullptr ? small_[i] : large_[i]; }
  /// Null for large counts.
  [[nodiscard]] const int* small() const { return small_; }
  [[nodiscard]] bool same_as(const Integers& other) const { return small_ == other.small_ && large_ == other.large_; }
  [[nodiscard]] bool present() const { return small_ != nullptr || large_ != nullptr; }

 private:
  const int* small_ = nullptr;
  const long* large_ = nullptr;
};

/// Fields that a collective does not have keep their defaults. `send*` and `recv*` are the standard's arguments; bcast's
/// buffer is both, its count and type are sendcount and sendtype; reductions have `count` and `datatype` in sendcount and sendtype, and recvcounts for reduce_scatter;
/// reduce_scatter_block's recvcount is recvcount.
struct Call {
  Collective collective;
  MPI_Comm comm;
  const void* sendbuf = nullptr;
  void* recvbuf = nullptr;
  std::int64_t sendcount = 0;
  std::int64_t recvcount = 0;
  MPI_Datatype sendtype = MPI_DATATYPE_NULL;
  MPI_Datatype recvtype = MPI_DATATYPE_NULL;
  Integers sendcounts, senddispls, recvcounts, recvdispls;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
};

/// Runs the call as a schedule if that was decided. True: done, `result` is what the MPI function returns. False: nothing has
/// been done or said; the caller calls the library. The answer is the same on every rank of the communicator.
bool accelerate(const Call& call, int& result);
/// After the library did a call that accelerate() had declined: for the summary.
void passed_on(const Call& call);

/// After the program's MPI_Init(_thread) succeeded: reads the settings and distributes them.
void after_init();
/// Before the library's MPI_Finalize: writes the summary, frees all communicators' state.
void before_finalize();
/// After MPI_Comm_set_info or MPI_Comm_dup_with_info on `comm`: the antiphon_* keys in `info`.
void apply_info(MPI_Comm comm, MPI_Info info);

}  // namespace antiphon::mpi
