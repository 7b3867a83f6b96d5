// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/broadcast.hpp"
#include "patterns/cut.hpp"

namespace antiphon::bcast_by_binary {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 sends the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to one rank"},
};

/// Segments go down a binary tree, to both children in turns. Cost (pLogP) for k segments of s bytes:
/// ⌈log2 P⌉ (L + 2 g(s)) + (k−1) 2 g(s) (paper 5, Table 1): half of the wire's rate, at a latency of log P.
Schedule build(const Problem& p) {
  Schedule s;
  broadcast_down(s, p, aligned_binary_tree(p.relative(p.rank), p.size), p.whole_output(), cut_of(p),
                 Serve::interleaved);
  return s;
}

}  // namespace

extern const Algorithm bcast{
    .collective = Collective::bcast,
    .name = "binary",
    .summary = "segments down a binary tree; medium messages, many ranks",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::bcast_by_binary
