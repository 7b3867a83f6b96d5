// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "antiphon/codec.hpp"
#include "antiphon/schedule.hpp"

/// A slot holds a piece of encoded data: first the length of what travels, then that: a checksum of the frame, and the
/// frame.
namespace antiphon::slot {

inline constexpr std::int64_t length_bytes = 8;
inline constexpr std::int64_t check_bytes = 8;
static_assert(encoded_overhead_bytes ==
              length_bytes + check_bytes + static_cast<std::int64_t>(codec::frame_overhead_bytes));

inline std::int64_t frame_length(const std::byte* slot) {
  std::int64_t length = 0;
  std::memcpy(&length, slot, sizeof length);
  return length;
}
inline void set_frame_length(std::byte* slot, std::int64_t length) { std::memcpy(slot, &length, sizeof length); }

/// Tells whether a slot of so many bytes can hold what has this length. Lengths that come from elsewhere are checked.
inline bool holds(std::int64_t slot_bytes, std::int64_t frame_bytes) {
  return frame_bytes >= check_bytes + static_cast<std::int64_t>(codec::frame_overhead_bytes) &&
         frame_bytes <= slot_bytes - length_bytes;
}

}  // namespace antiphon::slot
