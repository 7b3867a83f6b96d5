// SPDX-License-Identifier: Apache-2.0
// How a receiver tells frames from other messages (docs/concepts/compressed-messages.md).
//
// A message of at least the threshold that begins with one of two marks is not what the program sent: after `frame` comes a
// codec's frame; a message with `tagged` is as long as the program's and differs from it in its first 8 bytes, which travel
// in a side message. What the program sends and happens to begin with a mark is sent tagged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace antiphon::mpi {

enum class Mark : std::uint32_t { none = 0, frame = 0x466e41f7, tagged = 0x546e41f7 };  // f7 'A' 'n' 'F'; f7 'A' 'n' 'T'

inline constexpr std::size_t mark_bytes = 4;
inline constexpr std::size_t tagged_bytes = 8;  ///< mark and number

inline Mark mark_of(const void* message) {
  std::uint32_t word = 0;
  std::memcpy(&word, message, sizeof word);
  const auto mark = static_cast<Mark>(word);
  return mark == Mark::frame || mark == Mark::tagged ? mark : Mark::none;
}

inline void put_mark(void* message, Mark mark) { std::memcpy(message, &mark, sizeof mark); }

/// What the side message of a tagged one carries.
struct SideMessage {
  std::byte first[tagged_bytes];  ///< of the program's message
  std::byte head[8];              ///< of the codec's stored frame, if the receiver shall keep the message as a reference; else zeros
};

/// Its tag, for the number in the tagged message.
inline int side_tag(std::uint32_t number) { return static_cast<int>(number & 0x7fff); }

}  // namespace antiphon::mpi
