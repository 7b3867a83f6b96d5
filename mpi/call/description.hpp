// SPDX-License-Identifier: Apache-2.0
// A Description holds one call in bytes: what this rank sends and receives, and where the data lies.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "call/call.hpp"
#include "call/datatype.hpp"

namespace antiphon::mpi {

/// Holds one side of a call: where the program's data is. A side has `blocks` blocks: one for each rank, or one.
struct Side {
  std::byte* buffer = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  TypeInfo info;
  std::int64_t count = 0;   ///< elements of each block
  Integers counts, displs;  ///< set where blocks differ
  std::int64_t blocks = 0;
  bool used = false;  ///< whether this rank has this side in this call
  /// alltoallw has a type for each block, and displacements in bytes. In `info`, only `contiguous` has a meaning then:
  /// all blocks are contiguous.
  const MPI_Datatype* types = nullptr;
  std::vector<TypeInfo> infos;

  [[nodiscard]] std::int64_t total_bytes() const;
  [[nodiscard]] std::int64_t block_count(std::int64_t i) const { return counts.present() ? counts[i] : count; }
  /// Returns the place in elements; alltoallw has no such place.
  [[nodiscard]] std::int64_t block_place(std::int64_t i) const { return displs.present() ? displs[i] : i * count; }
  [[nodiscard]] const TypeInfo& block_info(std::int64_t i) const {
    return types == nullptr ? info : infos[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] MPI_Datatype block_type(std::int64_t i) const { return types == nullptr ? type : types[i]; }
  [[nodiscard]] std::int64_t block_bytes(std::int64_t i) const { return block_count(i) * block_info(i).size_bytes; }
  [[nodiscard]] std::int64_t offset_bytes(std::int64_t i) const {
    return types == nullptr ? block_place(i) * info.extent_bytes : displs[i];
  }
};

/// Describes what a call means on this rank. It is made once for each call, without communication.
struct Description {
  const Call* call = nullptr;  ///< must outlive the description
  int rank = 0;
  int size = 1;
  /// This is false if the call must be left to the library: it has wrong or unusual arguments, or nothing to move.
  bool schedulable = false;
  const char* obstacle = "";  ///< says in users' words why it is not schedulable, where that is known
  Collective collective{};
  Side input, output;
  bool in_place = false;
  std::int64_t block_bytes = 0;  ///< for the choice of algorithm: see Question::bytes
  std::int64_t element_bytes = 1;
  bool commutative = true;
  bool exact = true;           ///< as Question::exact
  std::int64_t own_bytes = 0;  ///< for the summary: what this rank hands in or gets
  [[nodiscard]] const Side& own_side() const { return input.used ? input : output; }

  /// An alltoall or alltoallv in place packs the data to send away first, and its problem is not one in place.
  [[nodiscard]] bool is_exchange() const {
    return collective == Collective::alltoall || collective == Collective::alltoallv;
  }
  /// Tells whether elements are reduced where they lie, with gaps between them; such data cannot be encoded.
  [[nodiscard]] bool has_gaps() const {
    const TypeInfo& info = input.used ? input.info : output.info;
    return is_reduction(collective) && info.size_bytes != info.extent_bytes;
  }
};

}  // namespace antiphon::mpi
