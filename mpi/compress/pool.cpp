// SPDX-License-Identifier: Apache-2.0
#include "compress/pool.hpp"

#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "compress/mutex.hpp"

namespace antiphon::mpi {

namespace {

constexpr int smallest_order = 10;
constexpr std::size_t most_kept_bytes = std::size_t{256} << 20;

Mutex pool_mutex;
std::array<std::vector<std::byte*>, 64> unused;
std::size_t kept_bytes = 0;

}  // namespace

Buffer::Buffer(std::size_t bytes) {
  order_ = std::max(smallest_order, static_cast<int>(std::bit_width(bytes > 0 ? bytes - 1 : 0)));
  {
    const std::lock_guard lock(pool_mutex);
    auto& list = unused[static_cast<std::size_t>(order_)];
    if (!list.empty()) {
      data_ = list.back();
      list.pop_back();
      kept_bytes -= std::size_t{1} << order_;
      return;
    }
  }
  data_ = static_cast<std::byte*>(std::aligned_alloc(64, std::size_t{1} << order_));
  if (data_ == nullptr) throw OutOfMemory();
}

void Buffer::reset() {
  if (data_ == nullptr) return;
  const std::size_t bytes = std::size_t{1} << order_;
  std::byte* const data = std::exchange(data_, nullptr);
  {
    const std::lock_guard lock(pool_mutex);
    if (kept_bytes + bytes <= most_kept_bytes) {
      unused[static_cast<std::size_t>(order_)].push_back(data);
      kept_bytes += bytes;
      return;
    }
  }
  std::free(data);
}

void empty_pool() {
  const std::lock_guard lock(pool_mutex);
  for (auto& list : unused) {
    for (std::byte* data : list) std::free(data);
    list.clear();
  }
  kept_bytes = 0;
}

}  // namespace antiphon::mpi
