// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace antiphon::multicast {

/// The number of a data packet among all packets of its sender, from 0.
using Position = std::int64_t;

/// Packets carry the lower 32 bits of a position; the result is the one nearest to `near`. A forged value gives a
/// distant position, never undefined behaviour.
[[nodiscard]] inline Position unwrap(std::uint32_t value, Position near) {
  return near + static_cast<std::int32_t>(value - static_cast<std::uint32_t>(near));
}
[[nodiscard]] inline std::uint32_t wrap(Position position) { return static_cast<std::uint32_t>(position); }

/// Number of packets of a message; an empty message has one.
[[nodiscard]] inline std::int64_t packets_of(std::int64_t message_bytes, int payload_bytes) {
  return message_bytes <= payload_bytes ? 1 : (message_bytes - 1) / payload_bytes + 1;
}

}  // namespace antiphon::multicast
