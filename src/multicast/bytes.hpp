// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace antiphon::multicast {

/// Writes an unsigned number big-endian.
template <typename T>
inline void put(std::byte* to, T value) {
  static_assert(std::is_unsigned_v<T>);
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> (8 * (sizeof(T) - 1 - i)));
}

template <typename T>
inline T get(const std::byte* from) {
  static_assert(std::is_unsigned_v<T>);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = value << 8 | static_cast<std::uint64_t>(from[i]);
  return static_cast<T>(value);
}

/// Appends numbers and bytes to a vector.
class Writer {
 public:
  template <typename T>
  void number(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    put(bytes_.data() + at, value);
  }
  void raw(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads what Writer wrote. A read past the end gives zeros and makes `ok()` false, so the caller checks once at the
/// end.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <typename T>
  T number() {
    const auto from = raw(sizeof(T));
    return from.size() == sizeof(T) ? get<T>(from.data()) : T{0};
  }
  std::span<const std::byte> raw(std::size_t count) {
    if (count > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const auto result = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return result;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

}  // namespace antiphon::multicast
