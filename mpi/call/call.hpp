// SPDX-License-Identifier: Apache-2.0
// A Call holds one collective call as the program made it, in one form for all bindings.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "antiphon/problem.hpp"

namespace antiphon::mpi {

/// Holds an array of counts or displacements: `int` in the classic bindings, MPI_Count or MPI_Aint in the large-count
/// ones.
class Integers {
 public:
  Integers() = default;
  Integers(const int* values) : small_(values) {}   // NOLINT(google-explicit-constructor)
  Integers(const long* values) : large_(values) {}  // NOLINT: MPI_Aint, MPI_Count where it is long
  Integers(const long long* values)                 // NOLINT: MPI_Count where it is long long
      : large_(reinterpret_cast<const long*>(values)) {
    static_assert(sizeof(long) == sizeof(long long));
  }
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const { return small_ != nullptr ? small_[i] : large_[i]; }
  /// Returns null for large counts.
  [[nodiscard]] const int* small() const { return small_; }
  /// Returns null for small counts.
  [[nodiscard]] const long* large() const { return large_; }
  [[nodiscard]] bool same_as(const Integers& other) const { return small_ == other.small_ && large_ == other.large_; }
  [[nodiscard]] bool present() const { return small_ != nullptr || large_ != nullptr; }

 private:
  const int* small_ = nullptr;
  const long* large_ = nullptr;
};

/// Names the MPI function that makes an exchange. All but the first are an alltoallv with other arguments
/// (Collective::alltoallv) and run as one: they have a type for each block and displacements in bytes, or blocks only
/// for the neighbours in the communicator's topology.
enum class Form : std::uint8_t {
  plain,
  alltoallw,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
};
inline constexpr int form_count = 7;
inline bool has_neighbours(Form form) { return form > Form::alltoallw; }
inline bool has_types(Form form) { return form == Form::alltoallw || form == Form::neighbor_alltoallw; }

/// Fields that a collective does not have keep their defaults. `send*` and `recv*` are the standard's arguments. The
/// buffer of a bcast is in both, with its count and type in sendcount and sendtype. A reduction has `count` and
/// `datatype` in sendcount and sendtype; reduce_scatter also uses recvcounts, and reduce_scatter_block's recvcount is
/// in recvcount.
struct Call {
  Collective collective;
  Form form = Form::plain;
  bool nonblocking = false;  ///< the program waits for a request
  MPI_Comm comm;
  const void* sendbuf = nullptr;
  void* recvbuf = nullptr;
  std::int64_t sendcount = 0;
  std::int64_t recvcount = 0;
  MPI_Datatype sendtype = MPI_DATATYPE_NULL;
  MPI_Datatype recvtype = MPI_DATATYPE_NULL;
  Integers sendcounts, senddispls, recvcounts, recvdispls;
  const MPI_Datatype* sendtypes = nullptr;
  const MPI_Datatype* recvtypes = nullptr;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
};

/// Summaries and traces tell these kinds apart: the collectives, then the forms of alltoallv, then all of these
/// nonblocking.
inline constexpr int blocking_kind_count = collective_count + form_count - 1;
inline constexpr int kind_count = 2 * blocking_kind_count;
inline int kind_of(const Call& call) {
  const int kind =
      call.form == Form::plain ? static_cast<int>(call.collective) : collective_count + static_cast<int>(call.form) - 1;
  return call.nonblocking ? blocking_kind_count + kind : kind;
}
/// Tells whether blocks have the same size on all ranks, or a mean that all ranks know.
bool has_equal_blocks(int kind);
/// Returns a name such as "alltoallw" or "ialltoallw": the standard's name in small letters.
const std::string& kind_name(int kind);

}  // namespace antiphon::mpi
