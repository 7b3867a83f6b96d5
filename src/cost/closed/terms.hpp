// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <span>

#include "antiphon/closed_forms.hpp"

namespace antiphon::closed {

inline int floor_log2(int p) { return std::bit_width(static_cast<unsigned>(p)) - 1; }
inline int ceil_log2(int p) { return p <= 1 ? 0 : std::bit_width(static_cast<unsigned>(p - 1)); }

/// Returns the bytes of so many blocks, or the most that there can be.
inline std::int64_t bytes_of_blocks(std::int64_t count, std::int64_t block_bytes) {
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(count, block_bytes, &bytes) ? std::numeric_limits<std::int64_t>::max() : bytes;
}

/// A message of m bytes in segments of s bytes: the number of segments and the time of one. The last one counts as
/// full, as in the paper.
struct Segments {
  double count = 1;
  double gap_s = 0;
  Segments(const ClosedFormCall& c, const LinkClass& link) {
    const bool whole = c.segment_bytes <= 0 || c.segment_bytes >= c.bytes;
    count = whole ? 1 : static_cast<double>((c.bytes + c.segment_bytes - 1) / c.segment_bytes);
    gap_s = link.gap.at(whole ? c.bytes : c.segment_bytes);
  }
};

/// Asking the receiver first costs 2 g(1) + 2 L.
inline double asking_s(const LinkClass& link) { return 2 * link.gap.at(1) + 2 * link.latency_s; }

std::span<const ClosedForm> bcast();
std::span<const ClosedForm> scatter();
std::span<const ClosedForm> gather();
std::span<const ClosedForm> alltoall();
std::span<const ClosedForm> allgather();

}  // namespace antiphon::closed
