// SPDX-License-Identifier: Apache-2.0
// Memory of calls: it is aligned, can be written to its end, and is given back.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "entry/arena.hpp"

using antiphon::mpi::Arena;

namespace {

constexpr std::int64_t mebibyte = 1 << 20;

/// Returns the size of this process' memory, used or not, in pages.
std::int64_t mapped_pages() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

bool is_aligned(const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p) % 64 == 0; }

}  // namespace

TEST_CASE("arena: memory of every size is aligned and whole") {
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, std::int64_t{65}, mebibyte, 4 * mebibyte - 1,
                                   4 * mebibyte, 4 * mebibyte + 1, 9 * mebibyte + 100}) {
    Arena arena;
    std::byte* const memory = arena.get(bytes);
    CHECK(memory != nullptr);
    CHECK(is_aligned(memory));
    std::memset(memory, 0xA5, static_cast<std::size_t>(bytes));
    CHECK(arena.get(bytes / 2) == memory);  // what is there is enough
  }
}

TEST_CASE("arena: memory grows, and what is large is given back") {
  Arena arena;
  arena.get(mebibyte);
  std::memset(arena.get(64 * mebibyte), 1, static_cast<std::size_t>(64 * mebibyte));
  const std::int64_t before = mapped_pages();
  arena.keep_at_most(64 * mebibyte);
  CHECK(mapped_pages() == before);
  arena.keep_at_most(16 * mebibyte);
  CHECK(mapped_pages() <= before - 64 * mebibyte / 4096);
  CHECK(is_aligned(arena.get(mebibyte)));
}

TEST_CASE("arena: whoever it is moved to gives the memory back") {
  const std::int64_t before = mapped_pages();
  {
    Arena first;
    first.get(64 * mebibyte);
    const Arena second = std::move(first);
    CHECK(mapped_pages() >= before + 64 * mebibyte / 4096);
  }
  CHECK(mapped_pages() < before + 64 * mebibyte / 4096);
}
