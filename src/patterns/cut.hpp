// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "antiphon/problem.hpp"

namespace antiphon {

/// The cut that the parameters of this name and "window" say.
inline Cut cut_of(const Problem& p, std::string_view piece_parameter = "segment_bytes") {
  return {p.piece_parameter(piece_parameter), static_cast<std::int32_t>(p.parameter("window"))};
}

/// Follow-on without a gap: piece k after piece k + `pieces` − window of `before`, which has so many pieces. So a
/// stream goes on to its next message while the last pieces of the one before are under way, and never more than
/// `window` are. Both messages need different tags if they go between the same two ranks.
inline Dep following(OpId before, std::int64_t pieces, const Cut& cut) {
  if (cut.window == 0) return before;
  return {before, static_cast<std::int32_t>(cut.window - pieces)};
}

}  // namespace antiphon
