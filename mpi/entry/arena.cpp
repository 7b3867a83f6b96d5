// SPDX-License-Identifier: Apache-2.0
#include "entry/arena.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace antiphon::mpi {

void Arena::Free::operator()(std::byte* p) const { std::free(p); }

std::byte* Arena::get(std::int64_t bytes) {
  constexpr std::int64_t alignment = 64;
  if (bytes > capacity_bytes_ || !memory_) {
    const std::int64_t wanted = (std::max<std::int64_t>(bytes, alignment) + alignment - 1) / alignment * alignment;
    memory_.reset();
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, static_cast<std::size_t>(wanted))));
    capacity_bytes_ = memory_ ? wanted : 0;
    if (!memory_) throw std::bad_alloc();
  }
  return memory_.get();
}

void Arena::keep_at_most(std::int64_t bytes) {
  if (capacity_bytes_ <= bytes) return;
  memory_.reset();
  capacity_bytes_ = 0;
}

}  // namespace antiphon::mpi
