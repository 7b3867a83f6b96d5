// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>

#include "antiphon/codec.hpp"
#include "codecs/frame/bytes.hpp"

namespace antiphon::codec {

namespace {

/// Odd, so that the product differs wherever the number does.
constexpr std::uint64_t factor = 0x9e3779b97f4a7c15ULL;
constexpr int turn = 29;

/// For each word the result differs wherever the sum does, and for each sum wherever the word does.
std::uint64_t add(std::uint64_t sum, std::uint64_t word) { return std::rotl((sum ^ word) * factor, turn); }

}  // namespace

std::uint64_t checksum(ConstBytes bytes) {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  // Four sums at a time, since each multiplication waits for the one before.
  std::array<std::uint64_t, 4> sums{1, 2, 3, 4};
  constexpr std::size_t stride = word_bytes * sums.size();
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= stride; at += stride, left -= stride) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = add(sums[i], load<std::uint64_t>(at + word_bytes * i));
  }
  for (; left >= word_bytes; at += word_bytes, left -= word_bytes) sums[0] = add(sums[0], load<std::uint64_t>(at));
  std::uint64_t rest = 0;
  if (left > 0) std::memcpy(&rest, at, left);
  std::uint64_t all = add(bytes.size(), rest);
  for (const std::uint64_t sum : sums) all = add(all, sum);
  return all ^ all >> 32;
}

}  // namespace antiphon::codec
