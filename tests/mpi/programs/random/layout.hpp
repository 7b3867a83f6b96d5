// SPDX-License-Identifier: Apache-2.0
// Datatypes, each with the bytes that it names.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <vector>

#include "numbers.hpp"

struct Piece {
  long offset;
  long bytes;
};

struct Layout {
  MPI_Datatype type = MPI_BYTE;
  bool is_own = false;  // to be freed
  std::vector<Piece> pieces{{0, 1}};
  long lower = 0;
  long extent = 1;
  long size = 1;

  /// The first byte of `count` elements, and the one behind the last.
  [[nodiscard]] long first() const;
  [[nodiscard]] long last(long count) const;
};

/// One of MPI's types, or {int, double} with a gap.
Layout base_layout(Rng& rng);

/// A type of `units` elements of `base`, which lie anyhow.
Layout shaped(const Layout& base, long units, Rng& rng);

/// `elements` of base as some count of a type.
struct Typed {
  Layout layout;
  long count = 0;
};
Typed typed(const Layout& base, long elements, Rng& rng);

/// `count` elements of the layout at an absolute address.
MPI_Datatype at_address(const Layout& layout, long count, const void* address);
