// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace antiphon::shm {

/// Goes before each message in a ring.
struct Header {
  std::uint64_t bytes = 0;
  std::int32_t tag = 0;
  std::int32_t lent = copied;  ///< number of the lent memory, whose address follows in place of the data

  static constexpr std::int32_t copied = -1;
};
static_assert(sizeof(Header) == 16);

/// So many memories may be lent to one rank at a time; further messages are copied.
inline constexpr int most_lent = 64;

/// Rings are filled and emptied in parts, so that both sides work at the same time.
inline constexpr std::size_t part_bytes = 16 << 10;

}  // namespace antiphon::shm
