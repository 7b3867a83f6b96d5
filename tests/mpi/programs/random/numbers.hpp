// SPDX-License-Identifier: Apache-2.0
// Random numbers that all ranks draw alike, and the bytes that follow from them.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

using Bytes = std::vector<unsigned char>;

inline uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

template <class... Parts>
uint64_t hash_of(Parts... parts) {
  uint64_t hash = 0;
  ((hash = mixed(hash ^ static_cast<uint64_t>(parts))), ...);
  return hash;
}

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}
  uint64_t next() { return mixed(state_++); }
  /// 0 … most - 1.
  int below(int most) { return static_cast<int>(next() % static_cast<uint64_t>(most > 1 ? most : 1)); }
  /// low … high.
  int between(int low, int high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  void shuffle(std::vector<T>& all) {
    for (int i = static_cast<int>(all.size()) - 1; i > 0; i--) std::swap(all[i], all[below(i + 1)]);
  }

 private:
  uint64_t state_;
};

/// Bytes of a message: noise, one byte, text, or 8-byte numbers that grow slowly, so that codecs have what they like.
inline Bytes stream(uint64_t seed, long bytes) {
  Bytes all(static_cast<size_t>(bytes));
  const uint64_t first = mixed(seed), kind = first % 5;
  for (long i = 0; i < bytes; i += 8) {
    const auto index = static_cast<uint64_t>(i / 8);
    uint64_t word = mixed(first + index);
    if (kind == 1) word = first % 251 * 0x0101010101010101;
    if (kind == 2) word = mixed(first + index % 7);
    if (kind == 3) word = first % 100000 + index;
    if (kind == 4) {
      const double value = 1.0 + static_cast<double>(first % 997) + static_cast<double>(index) / 64;
      std::memcpy(&word, &value, 8);
    }
    std::memcpy(&all[static_cast<size_t>(i)], &word, static_cast<size_t>(bytes - i < 8 ? bytes - i : 8));
  }
  return all;
}
