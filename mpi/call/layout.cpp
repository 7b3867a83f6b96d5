// SPDX-License-Identifier: Apache-2.0
#include "call/layout.hpp"

#include <cstring>

#include "call/type_contents.hpp"

namespace antiphon::mpi {

namespace {

bool describe_subarray(const int* integers, Layout& layout) {
  const int n = integers[0];
  const int* const sizes = integers + 1;
  const int* const parts = sizes + n;
  const int* const starts = parts + n;
  const bool last_is_fastest = starts[n] == MPI_ORDER_C;
  std::int64_t stride = layout.extent_bytes;
  for (int k = 0; k < n; ++k) {
    const int d = last_is_fastest ? n - 1 - k : k;
    if (!layout.repeat(parts[d], stride)) return false;
    layout.first_bytes += starts[d] * stride;
    stride *= sizes[d];
  }
  return true;
}

bool describe(MPI_Datatype type, Layout& layout);

/// Extends the layout of a type that is made of one other type; `layout` already describes that other type.
bool describe_made(int combiner, const Parts& parts, Layout& layout) {
  const int* const i = parts.integers.data();
  const std::int64_t extent = layout.extent_bytes;
  switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return true;
    case MPI_COMBINER_CONTIGUOUS: return layout.repeat(i[0], extent);
    case MPI_COMBINER_VECTOR: return layout.repeat(i[1], extent) && layout.repeat(i[0], i[2] * extent);
    case MPI_COMBINER_HVECTOR: return layout.repeat(i[1], extent) && layout.repeat(i[0], parts.addresses[0]);
    case MPI_COMBINER_SUBARRAY: return describe_subarray(i, layout);
    default: return false;
  }
}

bool describe(MPI_Datatype type, Layout& layout) {
  Making making;
  Parts parts;
  if (!how_made(type, making) || making.large) return false;
  MPI_Aint lb = 0;
  MPI_Aint extent = 0;
  PMPI_Type_get_extent(type, &lb, &extent);
  bool known = false;
  if (making.combiner == MPI_COMBINER_NAMED) {
    int size = 0;
    PMPI_Type_size(type, &size);
    layout.block_bytes = size;
    known = lb == 0 && size == extent;
  } else if (making.types == 1 && parts_of(type, making, parts)) {
    known = describe(parts.base, layout) && describe_made(making.combiner, parts, layout);
    give_back(parts.base);
  }
  layout.extent_bytes = extent;
  return known;
}

template <bool Gather>
void move(std::byte* place, std::byte* packed, std::size_t bytes) {
  std::memcpy(Gather ? packed : place, Gather ? place : packed, bytes);
}

/// Moves blocks of one length that the compiler knows.
template <bool Gather, std::size_t Bytes>
std::byte* move_row(const Layout::Dimension& row, std::byte* place, std::byte* packed) {
  for (std::int64_t i = 0; i < row.count; ++i) move<Gather>(place + i * row.stride_bytes, packed + i * Bytes, Bytes);
  return packed + row.count * Bytes;
}

/// Moves the inner dimensions of one element and returns where the packed bytes go on.
template <bool Gather>
std::byte* move_all(const Layout& layout, int dimensions, std::byte* place, std::byte* packed) {
  if (dimensions == 0) {
    move<Gather>(place, packed, static_cast<std::size_t>(layout.block_bytes));
    return packed + layout.block_bytes;
  }
  const Layout::Dimension& outer = layout.dimensions[static_cast<std::size_t>(dimensions) - 1];
  if (dimensions == 1 && layout.block_bytes == 8) return move_row<Gather, 8>(outer, place, packed);
  if (dimensions == 1 && layout.block_bytes == 4) return move_row<Gather, 4>(outer, place, packed);
  for (std::int64_t i = 0; i < outer.count; ++i) {
    packed = move_all<Gather>(layout, dimensions - 1, place + i * outer.stride_bytes, packed);
  }
  return packed;
}

template <bool Gather>
void move_elements(const Layout& layout, std::byte* place, std::int64_t count, std::byte* packed) {
  place += layout.first_bytes;
  for (std::int64_t i = 0; i < count; ++i, place += layout.extent_bytes) {
    packed = move_all<Gather>(layout, layout.dimension_count, place, packed);
  }
}

}  // namespace

bool Layout::repeat(std::int64_t count, std::int64_t stride_bytes) {
  if (count == 1) return true;
  if (count < 1 || stride_bytes < 0) return false;
  if (dimension_count == 0 && stride_bytes == block_bytes) {
    block_bytes *= count;
    return true;
  }
  if (dimension_count > 0) {
    Dimension& outer = dimensions[static_cast<std::size_t>(dimension_count) - 1];
    if (stride_bytes == outer.count * outer.stride_bytes) {
      outer.count *= count;
      return true;
    }
  }
  if (dimension_count == most_dimensions) return false;
  dimensions[static_cast<std::size_t>(dimension_count++)] = {count, stride_bytes};
  return true;
}

std::shared_ptr<const Layout> layout_of(MPI_Datatype type) {
  auto layout = std::make_shared<Layout>();
  constexpr std::int64_t least_block_bytes = 4;  // the size of a mark
  return describe(type, *layout) && layout->extent_bytes > 0 && layout->block_bytes >= least_block_bytes ? layout
                                                                                                         : nullptr;
}

void gather(const Layout& layout, const void* from, std::int64_t count, std::byte* to) {
  move_elements<true>(layout, static_cast<std::byte*>(const_cast<void*>(from)), count, to);
}

void scatter(const Layout& layout, const std::byte* from, std::int64_t count, void* to) {
  move_elements<false>(layout, static_cast<std::byte*>(to), count, const_cast<std::byte*>(from));
}

}  // namespace antiphon::mpi
