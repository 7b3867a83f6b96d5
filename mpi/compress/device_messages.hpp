// SPDX-License-Identifier: Apache-2.0
// Elements of messages that lie in a GPU's memory, and copies of them that the processor can use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "call/datatype.hpp"
#include "compress/pool.hpp"

namespace antiphon::mpi {

/// Returns a copy of elements that lie in a GPU's memory, or nothing if the driver refuses.
Buffer fetch_elements(const void* from, std::int64_t count, const TypeInfo& info);
/// Copies them back.
bool put_elements(void* to, std::int64_t count, const TypeInfo& info, const Buffer& copy);
/// Returns the address of the first element in a copy.
inline std::byte* elements_in(const Buffer& copy, const TypeInfo& info) { return copy.data() - info.true_lb_bytes; }

}  // namespace antiphon::mpi
