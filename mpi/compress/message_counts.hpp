// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace antiphon::mpi {

/// Counts what compression does with messages of one class of links.
struct MessageCounts {
  std::uint64_t messages = 0;  ///< of at least the threshold
  std::uint64_t encoded = 0;
  std::uint64_t bytes = 0;       ///< as the program sent them
  std::uint64_t wire_bytes = 0;  ///< as they travelled
  std::uint64_t encode_ns = 0;
  std::uint64_t decode_ns = 0;
  double saved_s = 0;            ///< estimated: wire time saved minus the extra time in codecs
  std::uint64_t kept_bytes = 0;  ///< kept now for predictions

  MessageCounts& operator+=(const MessageCounts& other) {
    messages += other.messages;
    encoded += other.encoded;
    bytes += other.bytes;
    wire_bytes += other.wire_bytes;
    encode_ns += other.encode_ns;
    decode_ns += other.decode_ns;
    saved_s += other.saved_s;
    kept_bytes += other.kept_bytes;
    return *this;
  }
};

}  // namespace antiphon::mpi
