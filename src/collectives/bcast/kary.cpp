// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/broadcast.hpp"
#include "patterns/cut.hpp"

namespace antiphon::bcast_by_kary {

namespace {

constexpr Parameter parameters[] = {
    {"radix", Role::fanout, 2, 1, 1 << 20, "children of a rank"},
    {"segment_bytes", Role::piece, 8192, 0, 1 << 30, "bytes per segment; 0 sends the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to one rank"},
};

/// Ranks fill a tree level by level, each with up to `radix` children (as Open MPI's binary tree), in segments that go
/// to all children in turns. Cost (pLogP) for k segments of s bytes: ⌈log_radix P⌉ (L + radix·g(s)) + (k−1) radix·g(s).
Schedule build(const Problem& p) {
  Schedule s;
  const Tree tree = kary_tree(p.relative(p.rank), p.size, static_cast<int>(p.parameter("radix")));
  broadcast_down(s, p, tree, p.whole_output(), cut_of(p), Serve::interleaved);
  return s;
}

}  // namespace

extern const Algorithm bcast{
    .collective = Collective::bcast,
    .name = "kary",
    .summary = "segments down a tree filled level by level; medium messages",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::bcast_by_kary
