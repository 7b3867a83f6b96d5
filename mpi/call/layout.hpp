// SPDX-License-Identifier: Apache-2.0
// A Layout says where the bytes of a datatype lie if the type consists of blocks at regular distances: rows, columns
// and other parts of grids.
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

  std::int64_t first_bytes = 0;  ///< where the first and lowest block lies, from the element's address
  std::int64_t block_bytes = 0;  ///< at least four
  std::int64_t extent_bytes = 0;
  std::array<Dimension, most_dimensions> dimensions;  ///< the innermost comes first
  int dimension_count = 0;

  /// Repeats what is described so far `count` times, `stride_bytes` apart. Returns false if that cannot be described.
  bool repeat(std::int64_t count, std::int64_t stride_bytes);
};

/// Returns null if the type is not regular in this way.
std::shared_ptr<const Layout> layout_of(MPI_Datatype type);

/// These copy `count` elements at `from` to packed bytes at `to`, and back. They are several times faster than MPI_Pack
/// and MPI_Unpack of some libraries.
void gather(const Layout& layout, const void* from, std::int64_t count, std::byte* to);
void scatter(const Layout& layout, const std::byte* from, std::int64_t count, void* to);

}  // namespace antiphon::mpi
