// SPDX-License-Identifier: Apache-2.0
// A stream of bytes from one process to another, in memory that both map. One side writes, the other reads; there is no
// lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace antiphon::shm {

inline constexpr std::size_t cache_line_bytes = 64;

/// What the two sides share; all zero is an empty stream. The data follow it.
struct RingState {
  alignas(cache_line_bytes) std::atomic<std::uint64_t> written{0};  ///< bytes since the beginning
  alignas(cache_line_bytes) std::atomic<std::uint64_t> read{0};
  /// Bit k: the receiver has fetched what the sender's lent memory number k holds.
  alignas(cache_line_bytes) std::atomic<std::uint64_t> fetched{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The writer's side. What is written is seen by the reader after publish().
class RingWriter {
 public:
  RingWriter() = default;
  /// The capacity is a power of two.
  RingWriter(RingState* state, std::byte* data, std::size_t capacity)
      : state_(state), data_(data), capacity_(capacity) {}

  /// Returns how many bytes can be written now. Looks at what the reader has read only if `wanted` do not fit.
  std::size_t room(std::size_t wanted) {
    if (capacity_ - (written_ - read_) < wanted) read_ = state_->read.load(std::memory_order_acquire);
    return capacity_ - (written_ - read_);
  }
  /// Writes bytes for which there is room.
  void write(const void* from, std::size_t bytes) {
    const std::size_t at = written_ & (capacity_ - 1);
    const std::size_t first = std::min(bytes, capacity_ - at);
    if (first > 0) std::memcpy(data_ + at, from, first);
    if (bytes > first) std::memcpy(data_, static_cast<const std::byte*>(from) + first, bytes - first);
    written_ += bytes;
  }
  void publish() { state_->written.store(written_, std::memory_order_release); }

  /// Returns which lent memories have been fetched since the last call.
  std::uint64_t take_fetched() {
    if (state_->fetched.load(std::memory_order_relaxed) == 0) return 0;
    return state_->fetched.exchange(0, std::memory_order_acquire);
  }

 private:
  RingState* state_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;  ///< by the reader, as far as is known here
};

/// The reader's side. What is read can be overwritten after release().
class RingReader {
 public:
  RingReader() = default;
  RingReader(RingState* state, const std::byte* data, std::size_t capacity)
      : state_(state), data_(data), capacity_(capacity) {}

  /// Returns how many bytes can be read now. Looks for more only if there are fewer than `wanted`.
  std::size_t available(std::size_t wanted) {
    if (written_ - read_ < wanted) written_ = state_->written.load(std::memory_order_acquire);
    return written_ - read_;
  }
  /// Reads bytes that are available.
  void read(void* to, std::size_t bytes) {
    const std::size_t at = read_ & (capacity_ - 1);
    const std::size_t first = std::min(bytes, capacity_ - at);
    if (first > 0) std::memcpy(to, data_ + at, first);
    if (bytes > first) std::memcpy(static_cast<std::byte*>(to) + first, data_, bytes - first);
    read_ += bytes;
  }
  void release() { state_->read.store(read_, std::memory_order_release); }

  /// Tells the writer that its lent memory number `lent` has been fetched.
  void note_fetched(int lent) { state_->fetched.fetch_or(std::uint64_t{1} << lent, std::memory_order_release); }

 private:
  RingState* state_ = nullptr;
  const std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t written_ = 0;  ///< by the writer, as far as is known here
};

}  // namespace antiphon::shm
