// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace antiphon::mpi::passed_calls {

/// Counts up whenever calls that were passed on are forgotten.
inline std::atomic<std::uint32_t> generation{1};

/// Forgets all calls of all threads that passed_calls.hpp remembers. Call it whenever something changes that a
/// remembered call was known by.
inline void forget() { generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace antiphon::mpi::passed_calls
