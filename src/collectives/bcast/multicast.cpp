// SPDX-License-Identifier: Apache-2.0
#include "patterns/multicast.hpp"
#include "antiphon/algorithm.hpp"

namespace antiphon::bcast_by_multicast {

namespace {

constexpr Parameter parameters[] = {
    {"segment_bytes", Role::piece, 32768, 0, 1 << 30,
     "bytes per message to the group; 0 sends all as one, which the transport cuts into packets"},
    {"window", Role::ahead, 2, 1, 64, "messages under way"},
};

/// The root sends one message to all (paper 1, §4.1). Cost: os(m) + g(m) + L + or(m) for any P; the acknowledgements
/// that come back along a tree keep only the root in the call, for about log P·L. Needs multicast on the wire; without
/// it, this is `flat` in turns.
Schedule build(const Problem& p) {
  Schedule s;
  multicast_from(s, p, group_of_all(s, p), p.root, p.whole_output(), no_op, multicast_cut(p));
  return s;
}

}  // namespace

extern const Algorithm bcast{
    .collective = Collective::bcast,
    .name = "multicast",
    .summary = "one multicast; any size, the more ranks the better",
    .parameters = parameters,
    .build = build,
    .multicasts = true,
};

}  // namespace antiphon::bcast_by_multicast
