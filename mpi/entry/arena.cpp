// SPDX-License-Identifier: Apache-2.0
#include "entry/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace antiphon::mpi {

namespace {

constexpr std::size_t alignment = 64;
/// Memory of this size comes in huge pages where the system has them: a tenth of the time that small ones take to come.
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
constexpr std::size_t least_mapped_bytes = 2 * huge_page_bytes;

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

void Arena::Free::operator()(std::byte* p) const {
  if (mapped != nullptr) munmap(mapped, mapped_bytes);
  else std::free(p);
}

Arena::Memory Arena::allocated(std::size_t bytes) {
  return {static_cast<std::byte*>(std::aligned_alloc(alignment, bytes)), Free{}};
}

/// Returns null where the system has no such memory.
Arena::Memory Arena::mapped(std::size_t bytes) {
  const std::size_t all = bytes + huge_page_bytes;
  void* const start = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return {nullptr, Free{}};
  auto* const whole = static_cast<std::byte*>(start);
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  std::byte* const first = whole + (rounded_up(address, huge_page_bytes) - address);
  madvise(first, bytes, MADV_HUGEPAGE);
  return {first, Free{whole, all}};
}

std::byte* Arena::get(std::int64_t bytes) {
  if (bytes > capacity_bytes_ || !memory_) {
    const auto wanted = rounded_up(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)), alignment);
    memory_.reset();
    memory_ = wanted < least_mapped_bytes ? allocated(wanted) : mapped(wanted);
    capacity_bytes_ = memory_ ? static_cast<std::int64_t>(wanted) : 0;
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
