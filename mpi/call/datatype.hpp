// SPDX-License-Identifier: Apache-2.0
// These functions inspect a datatype and move typed data to and from packed bytes.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "antiphon/codec.hpp"
#include "call/layout.hpp"

namespace antiphon::mpi {

struct TypeInfo {
  std::int64_t size_bytes = 0;
  std::int64_t extent_bytes = 0;
  std::int64_t true_lb_bytes = 0;
  std::int64_t true_extent_bytes = 0;
  bool predefined = false;
  /// This is true if `count` elements are count × size bytes of memory in type-map order, from the buffer's address.
  bool contiguous = false;
  /// Derived types that are regular have a layout.
  std::shared_ptr<const Layout> layout;
  /// An encoder uses this common kind of all elements; it is known for types made of one other type.
  codec::Element element = codec::Element::unknown;
};

/// Creates what inspect() needs to keep information on datatypes. Call it once, after MPI_Init.
void prepare_datatypes();
/// Frees what prepare_datatypes() creates. Call it once, before MPI_Finalize.
void release_datatypes();

/// Returns false if messages cannot have the datatype (null, not committed); `info` is meaningless then.
bool inspect(MPI_Datatype type, TypeInfo& info);

/// Copies `count` elements at `from` to packed bytes at `to`, and back. Both return MPI error codes.
int pack(const void* from, std::int64_t count, MPI_Datatype type, const TypeInfo& info, std::byte* to);
int unpack(const std::byte* from, void* to, std::int64_t count, MPI_Datatype type, const TypeInfo& info);

}  // namespace antiphon::mpi
