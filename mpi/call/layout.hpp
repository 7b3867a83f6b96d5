// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a datatype lie, of types that are blocks at regular distances: rows, columns and other parts of
// grids.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace antiphon::mpi {

struct Layout {
  struct Dimension {
    std::int64_t count = 0;
    std::int64_t stride_bytes = 0;  ///< not negative
  };
  static constexpr int most_dimensions = 6;

  std::int64_t first_bytes = 0;  ///< where the first block lies, from the element's address: no other lies lower
  std::int64_t block_bytes = 0;  ///< four at least
  std::int64_t extent_bytes = 0;
  std::array<Dimension, most_dimensions> dimensions;  ///< the innermost first
  int dimension_count = 0;

  /// So many of what is described so far, at such a distance. False if that cannot be described.
  bool repeat(std::int64_t count, std::int64_t stride_bytes);
};

/// Null if the type is not so regular.
std::shared_ptr<const Layout> layout_of(MPI_Datatype type);

/// `count` elements at `from` to packed bytes at `to`, and back: several times faster than some libraries' MPI_Pack and
/// MPI_Unpack.
void gather(const Layout& layout, const void* from, std::int64_t count, std::byte* to);
void scatter(const Layout& layout, const std::byte* from, std::int64_t count, void* to);

}  // namespace antiphon::mpi
