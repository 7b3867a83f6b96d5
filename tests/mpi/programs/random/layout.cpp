// SPDX-License-Identifier: Apache-2.0
#include "layout.hpp"

#include <algorithm>
#include <cstddef>

namespace {

struct Mixed {
  int number;
  double value;
};

Layout named(MPI_Datatype type, long bytes) {
  return {.type = type, .is_own = false, .pieces = {{0, bytes}}, .lower = 0, .extent = bytes, .size = bytes};
}

/// Places elements of `base` at these offsets; the type's bounds come from MPI.
Layout of_offsets(MPI_Datatype type, const Layout& base, const std::vector<long>& offsets) {
  Layout layout{.type = type, .is_own = true, .pieces = {}};
  for (const long offset : offsets) {
    for (const Piece& piece : base.pieces) {
      const long at = offset + piece.offset;
      if (!layout.pieces.empty() && layout.pieces.back().offset + layout.pieces.back().bytes == at) {
        layout.pieces.back().bytes += piece.bytes;
      } else {
        layout.pieces.push_back({at, piece.bytes});
      }
    }
  }
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  layout.lower = lower;
  layout.extent = extent;
  layout.size = base.size * static_cast<long>(offsets.size());
  return layout;
}

/// Blocks of `each` elements, `stride` elements apart, as a vector of elements or of bytes.
Layout vector_of(const Layout& base, long units, long each, long stride, bool in_bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int blocks = static_cast<int>(units / each), length = static_cast<int>(each);
  if (in_bytes) MPI_Type_create_hvector(blocks, length, stride * base.extent, base.type, &type);
  else MPI_Type_vector(blocks, length, static_cast<int>(stride), base.type, &type);
  std::vector<long> offsets;
  for (long i = 0; i < units; i++) offsets.push_back((i / each * stride + i % each) * base.extent);
  return of_offsets(type, base, offsets);
}

/// Blocks in any order, with gaps, from a place that can be before the buffer's.
Layout indexed_of(const Layout& base, long units, long each, Rng& rng) {
  const int blocks = static_cast<int>(units / each);
  std::vector<int> order(static_cast<size_t>(blocks)), lengths(order.size(), static_cast<int>(each));
  for (int i = 0; i < blocks; i++) order[static_cast<size_t>(i)] = i;
  if (rng.chance(40)) rng.shuffle(order);
  const long shift = rng.chance(20) ? rng.between(-3, 3) : 0;
  std::vector<long> offsets;
  std::vector<MPI_Aint> places;
  std::vector<int> indices;
  for (const int at : order) {
    const long element = at * (each + 1) + shift;
    indices.push_back(static_cast<int>(element));
    places.push_back(element * base.extent);
    for (long i = 0; i < each; i++) offsets.push_back((element + i) * base.extent);
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const std::vector<MPI_Datatype> types(lengths.size(), base.type);
  switch (rng.below(4)) {
    case 0: MPI_Type_indexed(blocks, lengths.data(), indices.data(), base.type, &type); break;
    case 1: MPI_Type_create_hindexed(blocks, lengths.data(), places.data(), base.type, &type); break;
    case 2: MPI_Type_create_indexed_block(blocks, static_cast<int>(each), indices.data(), base.type, &type); break;
    default: MPI_Type_create_struct(blocks, lengths.data(), places.data(), types.data(), &type);
  }
  return of_offsets(type, base, offsets);
}

Layout subarray_of(const Layout& base, long units, long each, Rng& rng) {
  const int rows = static_cast<int>(units / each), columns = static_cast<int>(each);
  const int starts[2] = {rng.below(2), rng.below(3)}, sub[2] = {rows, columns};
  const int whole[2] = {rows + starts[0] + rng.below(2), columns + starts[1] + rng.below(2)};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(2, whole, sub, starts, MPI_ORDER_C, base.type, &type);
  std::vector<long> offsets;
  for (long i = 0; i < units; i++) {
    offsets.push_back(((starts[0] + i / each) * whole[1] + starts[1] + i % each) * base.extent);
  }
  return of_offsets(type, base, offsets);
}

Layout contiguous_of(const Layout& base, long units) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(units), base.type, &type);
  std::vector<long> offsets;
  for (long i = 0; i < units; i++) offsets.push_back(i * base.extent);
  return of_offsets(type, base, offsets);
}

/// The same elements further apart, or with bounds that begin elsewhere.
Layout resized(Layout layout, const Layout& base, Rng& rng) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const long more = rng.below(3) * base.extent, lower = rng.chance(30) ? layout.lower - base.extent : layout.lower;
  MPI_Type_create_resized(layout.type, lower, layout.extent + more + layout.lower - lower, &type);
  if (layout.is_own) MPI_Type_free(&layout.type);
  layout.type = type;
  layout.is_own = true;
  layout.extent += more + layout.lower - lower;
  layout.lower = lower;
  return layout;
}

/// A divisor of `whole` of which there are not too many.
long divisor(long whole, long most_blocks, Rng& rng) {
  std::vector<long> all;
  for (long each = 1; each <= whole && each < 20000; each++)
    if (whole % each == 0 && whole / each <= most_blocks) all.push_back(each);
  return all.empty() ? whole : all[static_cast<size_t>(rng.below(static_cast<int>(all.size())))];
}

}  // namespace

long Layout::first() const {
  long first = pieces.front().offset;
  for (const Piece& piece : pieces) first = std::min(first, piece.offset);
  return first;
}

long Layout::last(long count) const {
  long last = 0;
  for (const Piece& piece : pieces) last = std::max(last, piece.offset + piece.bytes);
  return last + (count - 1) * extent;
}

Layout base_layout(Rng& rng) {
  switch (rng.below(9)) {
    case 0: return named(MPI_CHAR, 1);
    case 1: return named(MPI_SHORT, 2);
    case 2: return named(MPI_INT, 4);
    case 3: return named(MPI_FLOAT, 4);
    case 4: return named(MPI_DOUBLE, 8);
    case 5: return named(MPI_LONG, 8);
    case 6: return named(MPI_UINT64_T, 8);
    case 7: {
      const int lengths[2] = {1, 1};
      const MPI_Aint places[2] = {offsetof(Mixed, number), offsetof(Mixed, value)};
      const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
      Layout layout{.is_own = true, .pieces = {{0, 4}, {8, 8}}, .lower = 0, .extent = sizeof(Mixed), .size = 12};
      MPI_Type_create_struct(2, lengths, places, types, &layout.type);
      MPI_Type_commit(&layout.type);
      return layout;
    }
    default: return named(MPI_BYTE, 1);
  }
}

Layout shaped(const Layout& base, long units, Rng& rng) {
  const long each = divisor(units, 200, rng);
  Layout layout;
  switch (rng.below(6)) {
    case 0: layout = contiguous_of(base, units); break;
    case 1: layout = vector_of(base, units, each, each + rng.below(3), false); break;
    case 2: layout = vector_of(base, units, each, each + rng.below(3), true); break;
    case 3: layout = subarray_of(base, units, each, rng); break;
    default: layout = indexed_of(base, units, each, rng);
  }
  if (rng.chance(25)) layout = resized(layout, base, rng);
  if (rng.chance(10)) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_dup(layout.type, &type);
    MPI_Type_free(&layout.type);
    layout.type = type;
  }
  MPI_Type_commit(&layout.type);
  return layout;
}

Typed typed(const Layout& base, long elements, Rng& rng) {
  const bool is_plain = elements == 0 || rng.chance(55);
  const long units = is_plain ? 1 : divisor(elements, 1000, rng);
  if (!is_plain) return {shaped(base, units, rng), elements / units};
  Layout layout = base;
  if (layout.is_own) {
    MPI_Type_dup(base.type, &layout.type);
    MPI_Type_commit(&layout.type);
  }
  return {layout, elements};
}

MPI_Datatype at_address(const Layout& layout, long count, const void* address) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Aint place = 0;
  const int length = static_cast<int>(count);
  MPI_Get_address(address, &place);
  MPI_Type_create_struct(1, &length, &place, &layout.type, &type);
  MPI_Type_commit(&type);
  return type;
}
