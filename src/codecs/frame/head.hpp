// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "antiphon/codec.hpp"
#include "codecs/frame/bytes.hpp"

/// The 8 bytes before every frame (docs/reference/codecs/README.md).
namespace antiphon::codec {

inline constexpr int format_version = 1;

struct Head {
  Id codec = Id::stored;
  bool kept = false;           ///< the receiver keeps the message as a reference, under the number `sequence`
  bool padded = false;         ///< the last 4 bytes hold the length of the frame without padding
  std::uint16_t sequence = 0;  ///< number of the kept frame on this link, modulo 2^16
  std::uint64_t raw_bytes = 0;
};

inline constexpr std::uint64_t max_kept_bytes = 0xffffffffu;
inline constexpr std::uint64_t max_raw_bytes = (std::uint64_t{1} << 48) - 1;

inline std::uint8_t head_check(std::uint64_t bits) {
  const std::uint64_t rest = bits & ~std::uint64_t{0xff00};
  return static_cast<std::uint8_t>(((rest ^ (rest >> 29)) * 0x9e3779b97f4a7c15ULL) >> 56);
}

inline std::uint64_t bits_of(const Head& head) {
  std::uint64_t bits = static_cast<std::uint64_t>(head.codec) | (head.kept ? 0x10u : 0u) | (head.padded ? 0x20u : 0u) |
                       (static_cast<std::uint64_t>(format_version) << 6);
  bits |= head.kept ? std::uint64_t{head.sequence} << 16 | head.raw_bytes << 32 : head.raw_bytes << 16;
  return bits | std::uint64_t{head_check(bits)} << 8;
}

inline std::array<std::byte, frame_overhead_bytes> bytes_of(const Head& head) {
  return std::bit_cast<std::array<std::byte, frame_overhead_bytes>>(bits_of(head));
}

inline Error read_head(ConstBytes frame, Head& head) {
  if (frame.size() < frame_overhead_bytes) return Error::truncated;
  const auto bits = load<std::uint64_t>(frame.data());
  if (head_check(bits) != static_cast<std::uint8_t>(bits >> 8)) return Error::damaged;
  if (((bits >> 6) & 3) != format_version) return Error::version;
  head.codec = static_cast<Id>(bits & 0xf);
  head.kept = (bits & 0x10) != 0;
  head.padded = (bits & 0x20) != 0;
  head.sequence = head.kept ? static_cast<std::uint16_t>(bits >> 16) : std::uint16_t{0};
  head.raw_bytes = head.kept ? bits >> 32 : bits >> 16;
  return Error::none;
}

}  // namespace antiphon::codec
