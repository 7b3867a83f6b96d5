// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

namespace antiphon {

/// A fast generator with the same numbers on every machine (splitmix64's steps through an xorshift state).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 0xD1B54A32D192ED03ULL) { next(); }
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  /// Returns a number from 0 to n − 1.
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(((next() >> 32) * std::uint64_t{n}) >> 32); }
  /// Returns a number from 0 up to, but not including, 1.
  float unit() { return static_cast<float>(next() >> 40) * 0x1p-24F; }
  template <class Iterator>
  void shuffle(Iterator begin, Iterator end) {
    for (auto n = end - begin; n > 1; --n) std::swap(begin[n - 1], begin[below(static_cast<std::uint32_t>(n))]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace antiphon
