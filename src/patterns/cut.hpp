// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "antiphon/problem.hpp"

namespace antiphon {

/// The cut that the parameter `piece_parameter` and the parameter "window" give.
inline Cut cut_of(const Problem& p, std::string_view piece_parameter = "segment_bytes") {
  return {p.piece_parameter(piece_parameter), static_cast<std::int32_t>(p.parameter("window"))};
}

/// Lets a message follow `before`, which has `pieces` pieces, without a gap: piece k waits for piece k + `pieces` −
/// window of `before`. So the next message begins while the last pieces of the one before are under way, and at most
/// `window` pieces are. Both messages need different tags if they go between the same two ranks.
inline Dep following(OpId before, std::int64_t pieces, const Cut& cut) {
  if (cut.window == 0) return before;
  return {before, static_cast<std::int32_t>(cut.window - pieces)};
}

}  // namespace antiphon
