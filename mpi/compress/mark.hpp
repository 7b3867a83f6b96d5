// SPDX-License-Identifier: Apache-2.0
// A receiver tells frames from other messages by a mark (docs/concepts/compressed-messages.md).
//
// A message of at least the threshold that begins with one of two marks is not what the program sent. After `frame`
// comes a codec's frame, its checksum, and a few bytes that fill it up to a length of 15 more than a multiple of 16. A
// mark with a wrong bit counts as one, too, so that no damaged frame is taken for a program's message. A message with
// `tagged` is as long as the program's and differs from it in its first 8 bytes, which travel in a side message. A
// program's message that happens to begin with a mark is sent tagged.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "antiphon/codec.hpp"

namespace antiphon::mpi {

enum class Mark : std::uint32_t {
  none = 0,
  frame = 0x466e41f7,
  tagged = 0xb991be08
};  // f7 'A' 'n' 'F', and the same with all bits turned

inline constexpr std::size_t mark_bytes = 4;
inline constexpr std::size_t tagged_bytes = 8;  ///< mark and number
inline constexpr std::size_t check_bytes = 8;   ///< a frame's checksum

inline Mark mark_of(const void* message) {
  std::uint32_t word = 0;
  std::memcpy(&word, message, sizeof word);
  for (const Mark mark : {Mark::frame, Mark::tagged}) {
    if (std::popcount(word ^ static_cast<std::uint32_t>(mark)) <= 1) return mark;
  }
  return Mark::none;
}

inline void put_mark(void* message, Mark mark) { std::memcpy(message, &mark, sizeof mark); }

/// A probe cannot see the mark. But it sees the length, and few messages of programs have the length of a frame.
inline constexpr std::size_t frame_step = 16;
inline bool is_frame_length(std::int64_t bytes) { return bytes % frame_step == frame_step - 1; }
/// Returns the length of mark, frame, checksum and filling.
inline std::size_t framed_length(std::size_t frame_bytes) {
  return (mark_bytes + frame_bytes + check_bytes + 1) / frame_step * frame_step + frame_step - 1;
}
/// Writes mark, checksum and filling around a frame that lies at `wire` + mark_bytes; the last byte gives the length of
/// the filling.
inline std::size_t put_around(std::byte* wire, std::size_t frame_bytes) {
  const std::size_t end = mark_bytes + frame_bytes + check_bytes;
  const std::size_t length = framed_length(frame_bytes);
  put_mark(wire, Mark::frame);
  const std::uint64_t check = codec::checksum({wire + mark_bytes, frame_bytes});
  std::memcpy(wire + mark_bytes + frame_bytes, &check, sizeof check);
  std::memset(wire + end, 0, length - end);
  wire[length - 1] = static_cast<std::byte>(length - end);
  return length;
}
/// Returns the length of the frame in a message that has its mark and length, or 0 if the filling or the checksum is
/// not right.
inline std::size_t frame_length(const std::byte* wire, std::size_t length) {
  const auto filling = static_cast<std::size_t>(wire[length - 1]);
  if (filling == 0 || filling > frame_step || filling + mark_bytes + check_bytes > length) return 0;
  const std::size_t bytes = length - mark_bytes - check_bytes - filling;
  std::uint64_t check = 0;
  std::memcpy(&check, wire + mark_bytes + bytes, sizeof check);
  return codec::checksum({wire + mark_bytes, bytes}) == check ? bytes : 0;
}

/// Holds what the side message of a tagged message carries.
struct SideMessage {
  std::byte first[tagged_bytes];  ///< of the program's message
  std::byte head[8];              ///< of the codec's stored frame, if the receiver must keep the message; else zeros
  std::uint32_t number;           ///< in the tagged message
};

/// Returns the side message's tag, for the number in the tagged message. Many numbers share one.
inline int side_tag(std::uint32_t number) { return static_cast<int>(number % 0x7fff); }
/// The news that a message is lost has this tag; every library has tags up to this one.
inline constexpr int loss_tag = 0x7fff;

}  // namespace antiphon::mpi
