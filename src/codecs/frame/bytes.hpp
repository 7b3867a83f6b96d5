// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "antiphon/codec.hpp"

/// Little-endian numbers in a buffer. Writing does not check bounds; reading does.
namespace antiphon::codec {

template <typename T>
inline T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T>
inline void store(void* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}
static_assert(std::endian::native == std::endian::little, "the wire is little-endian; add byte swaps here");

class Writer {
 public:
  explicit Writer(std::uint8_t* to) : begin_(to), to_(to) {}
  void byte(std::uint8_t value) { *to_++ = value; }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  void number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) byte(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  std::uint8_t* at() const { return to_; }
  void advance(std::size_t bytes) { to_ += bytes; }
  std::size_t written() const { return static_cast<std::size_t>(to_ - begin_); }

 private:
  std::uint8_t* begin_;
  std::uint8_t* to_;
};

/// Reads numbers. A read past the end returns zero and makes ok() false from then on.
class Reader {
 public:
  explicit Reader(ConstBytes from) : at_(reinterpret_cast<const std::uint8_t*>(from.data())), end_(at_ + from.size()) {}
  bool ok() const { return ok_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  const std::uint8_t* at() const { return at_; }
  const std::uint8_t* end() const { return end_; }
  /// Skips `bytes` and returns a pointer to them, or nullptr if fewer are left.
  const std::uint8_t* take(std::size_t bytes) {
    if (bytes > left()) {
      ok_ = false;
      return nullptr;
    }
    const std::uint8_t* from = at_;
    at_ += bytes;
    return from;
  }
  std::uint8_t byte() {
    const std::uint8_t* from = take(1);
    return from == nullptr ? 0 : *from;
  }
  std::uint64_t number(int bytes) {
    const std::uint8_t* from = take(static_cast<std::size_t>(bytes));
    std::uint64_t value = 0;
    for (int i = 0; from != nullptr && i < bytes; ++i) value |= std::uint64_t{from[i]} << (8 * i);
    return value;
  }
  /// Reads a number; a value above `limit` makes ok() false.
  std::uint64_t varint(std::uint64_t limit) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 28; shift += 7) {
      const std::uint8_t next = byte();
      value |= std::uint64_t{next & 0x7fu} << shift;
      if ((next & 0x80) == 0) {
        if (value > limit) ok_ = false;
        return value;
      }
    }
    ok_ = false;
    return 0;
  }
  ConstBytes rest() const { return {reinterpret_cast<const std::byte*>(at_), left()}; }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool ok_ = true;
};

}  // namespace antiphon::codec
