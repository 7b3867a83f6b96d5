// SPDX-License-Identifier: Apache-2.0
#include "antiphon/algorithm.hpp"
#include "patterns/broadcast.hpp"
#include "patterns/cut.hpp"

namespace antiphon::bcast_by_flat {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 16384, 0, 1 << 30, "bytes per segment; 0 sends the whole message at once"},
    {"window", Role::ahead, 4, 1, 1024, "segments under way to one rank"},
};

/// The root sends to all others, one after the other rather than in turns: the last one has the message equally late,
/// all others earlier. Cost (pLogP): (P−1) g(m) + L (paper 5, Table 1). Good for a few ranks and short messages.
Schedule build(const Problem& p) {
  Schedule s;
  broadcast_down(s, p, flat_tree(p.relative(p.rank), p.size), p.whole_output(), cut_of(p), Serve::one_after_another);
  return s;
}

}  // namespace

extern const Algorithm bcast{
    .collective = Collective::bcast,
    .name = "flat",
    .summary = "the root sends to everybody; few ranks, short messages",
    .parameters = parameters,
    .build = build,
};

}  // namespace antiphon::bcast_by_flat
