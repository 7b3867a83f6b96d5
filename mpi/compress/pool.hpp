// SPDX-License-Identifier: Apache-2.0
// Buffers of frames are taken and given back all the time, so the pool keeps their memory, warm and already mapped.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace antiphon::mpi {

/// There is no memory for a buffer. Only Antiphon throws it, so that nothing of the program's is taken for it.
struct OutOfMemory : std::bad_alloc {};

/// Holds at least `bytes` of memory from the pool, 64-byte aligned and not initialised. Throws OutOfMemory.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), order_(other.order_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(order_, other.order_);
    return *this;
  }
  void reset();
  [[nodiscard]] std::byte* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::byte* data_ = nullptr;
  int order_ = 0;  ///< 2^order_ bytes
};

/// Gives all unused memory back to the system.
void empty_pool();

}  // namespace antiphon::mpi
