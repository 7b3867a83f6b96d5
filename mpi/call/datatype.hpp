// SPDX-License-Identifier: Apache-2.0
// What Antiphon needs to know of a datatype, and moving typed data to and from packed bytes.
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
  /// count elements are count × size bytes of memory in type-map order, from the buffer's address.
  bool contiguous = false;
  /// Of derived types that are regular.
  std::shared_ptr<const Layout> layout;
  /// What all its elements are, for an encoder; of types made of one other.
  codec::Element element = codec::Element::unknown;
};

/// Creates what inspect() keeps on datatypes. Once, after MPI_Init.
void prepare_datatypes();
/// Gives it back. Once, before MPI_Finalize.
void release_datatypes();

/// False if the datatype is none that messages can have (null, not committed); nothing is known then.
bool inspect(MPI_Datatype type, TypeInfo& info);

/// `count` elements at `from` to packed bytes at `to`, and back. Return MPI error codes.
int pack(const void* from, std::int64_t count, MPI_Datatype type, const TypeInfo& info, std::byte* to);
int unpack(const std::byte* from, void* to, std::int64_t count, MPI_Datatype type, const TypeInfo& info);

}  // namespace antiphon::mpi
