// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "antiphon/problem.hpp"
#include "patterns/circulant.hpp"
#include "patterns/partition.hpp"
#include "patterns/rounds.hpp"

namespace antiphon {

/// Cuts a message into blocks of block_bytes for a circulant schedule, but at most into `blocks` (parameters of these
/// names).
inline Partition circulant_blocks(const Problem& p) {
  const std::int64_t block_bytes = p.piece_parameter("block_bytes");
  const std::int64_t wanted = block_bytes == 0 ? 1 : (p.bytes + block_bytes - 1) / block_bytes;
  const std::int64_t elements =
      std::max<std::int64_t>(p.bytes / p.element_bytes, 1);  // no block is empty, except that of an empty message
  return {p.bytes, p.element_bytes,
          static_cast<int>(std::clamp<std::int64_t>(wanted, 1, std::min(elements, p.parameter("blocks"))))};
}

}  // namespace antiphon
