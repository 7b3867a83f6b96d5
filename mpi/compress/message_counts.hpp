// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace antiphon::mpi {

/// Counts what it does with those of one power of two.
struct SizeCounts {
  static constexpr std::size_t classes = 24;
  static constexpr int least_width = 10;  ///< bits of the sizes of the first class and all shorter ones
  static std::size_t class_of(std::uint64_t bytes) {
    return static_cast<std::size_t>(
        std::clamp(static_cast<int>(std::bit_width(bytes)) - least_width, 0, static_cast<int>(classes) - 1));
  }
  static std::uint64_t least_bytes(std::size_t of_class) { return std::uint64_t{1} << (of_class + least_width - 1); }

  std::uint64_t messages = 0;
  std::uint64_t encoded = 0;
  double saved_s = 0;

  SizeCounts& operator+=(const SizeCounts& other) {
    messages += other.messages;
    encoded += other.encoded;
    saved_s += other.saved_s;
    return *this;
  }
};

/// Counts what compression does with messages of one class of links.
struct MessageCounts {
  std::uint64_t messages = 0;  ///< of at least the threshold
  std::uint64_t encoded = 0;
  std::uint64_t bytes = 0;       ///< as the program sent them
  std::uint64_t wire_bytes = 0;  ///< as they travelled
  std::uint64_t encode_ns = 0;
  std::uint64_t decode_ns = 0;
  double saved_s = 0;                                   ///< estimated: wire time saved minus the extra time in codecs
  std::uint64_t kept_bytes = 0;                         ///< kept now for predictions
  std::array<SizeCounts, SizeCounts::classes> sizes{};  ///< of messages between two ranks

  MessageCounts& operator+=(const MessageCounts& other) {
    messages += other.messages;
    encoded += other.encoded;
    bytes += other.bytes;
    wire_bytes += other.wire_bytes;
    encode_ns += other.encode_ns;
    decode_ns += other.decode_ns;
    saved_s += other.saved_s;
    kept_bytes += other.kept_bytes;
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] += other.sizes[i];
    return *this;
  }
};

}  // namespace antiphon::mpi
